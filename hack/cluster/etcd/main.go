// Command etcd is the etcd server at the version that Kubernetes pins, built
// from its Go module for the test cluster.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }

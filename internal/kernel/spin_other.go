//go:build !amd64 && !arm64

package kernel

func pause(n uint32) {
	for range n {
	}
}

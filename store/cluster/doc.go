// Package cluster keeps profiles in a Kubernetes cluster, as the custom
// resources of package v1alpha1; package store keeps them in a folder.
//
// An application measured on two machines has two profiles, but a cluster has one
// object of a name. The first is named as the application; the next ones are named
// APPLICATION.MACHINE and say the application in the label bandmate.dev/application.
// Profiles that are read have the application's name again, so callers need not know
// about this.
package cluster

// Package v1alpha1 defines Bandmate's profiles: ApplicationProfile and
// MachineProfile. One Go type each is both the file on disk and the Kubernetes
// custom resource.
//
// Every number states its unit in its name: BytesPerSecond (decimal, at the
// memory controller), Seconds, Nanoseconds; read shares, levels and normalized
// performance are plain shares of one. A value that was not measured is absent,
// never zero.
//
// +kubebuilder:object:generate=true
// +groupName=bandmate.dev
package v1alpha1

//go:generate go tool -modfile=../../tools.mod controller-gen object paths=. crd:allowDangerousTypes=true output:crd:dir=../../manifests/base/crds

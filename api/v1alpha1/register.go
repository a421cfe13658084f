package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of Bandmate's custom resources.
const Group = "bandmate.dev"

// GroupVersion returns the group and version of this package's kinds.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: "v1alpha1"}
}

// AddToScheme makes the kinds of this package known to a Kubernetes client's
// scheme. It never fails; the error is what a scheme builder expects.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(),
		&ApplicationProfile{}, &ApplicationProfileList{},
		&MachineProfile{}, &MachineProfileList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"bandmate.dev/bandmate/api/v1alpha1"
)

// install creates what the scheduler needs: the namespace, the right to read
// profiles, and the resource definitions.
func (c *Cluster) install(ctx context.Context, crds string) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	name := metav1.ObjectMeta{Name: "bandmate-profiles"}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		// The lease is not called kube-scheduler.
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	}}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cluster: role: %w", err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: name,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:kube-scheduler"}},
	}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("cluster: role binding: %w", err)
	}
	// The API server makes its namespaces a moment after it is ready.
	if err := until(ctx, startLimit, "namespace default", func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err
	}); err != nil {
		return err
	}
	if crds == "" {
		return nil
	}
	return c.InstallCRDs(ctx, crds)
}

// InstallCRDs creates the resource definitions of a folder and waits until they
// are served.
func (c *Cluster) InstallCRDs(ctx context.Context, folder string) error {
	client, definitions, err := c.definitions(folder)
	if err != nil {
		return err
	}
	for _, d := range definitions {
		if _, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, d, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("cluster: %s: %w", d.Name, err)
		}
		if err := until(ctx, time.Minute, d.Name, func() error { return established(ctx, client, d.Name) }); err != nil {
			return err
		}
	}
	return nil
}

// RemoveCRDs deletes them, and with them every object, and waits until they are
// gone.
func (c *Cluster) RemoveCRDs(ctx context.Context, folder string) error {
	client, definitions, err := c.definitions(folder)
	if err != nil {
		return err
	}
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	for _, d := range definitions {
		if err := api.Delete(ctx, d.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("cluster: %s: %w", d.Name, err)
		}
		if err := until(ctx, time.Minute, d.Name+" gone", func() error {
			if _, err := api.Get(ctx, d.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("still there"), err)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) definitions(folder string) (*apiextensions.Clientset, []*apiextensionsv1.CustomResourceDefinition, error) {
	config, err := c.Config()
	if err != nil {
		return nil, nil, err
	}
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "bandmate.dev_*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, nil, fmt.Errorf("cluster: no resource definitions in %s: %w", folder, err)
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, d); err != nil {
			return nil, nil, fmt.Errorf("cluster: %s: %w", file, err)
		}
		definitions = append(definitions, d)
	}
	return client, definitions, nil
}

func established(ctx context.Context, client *apiextensions.Clientset, name string) error {
	d, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
			return nil
		}
	}
	return errors.New("not established")
}

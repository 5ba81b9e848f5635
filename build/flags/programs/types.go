// SPDX-License-Identifier: Apache-2.0

//go:build ignore

package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	proxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// listTypes prints the fields of the objects in a machine configuration: KIND PATH TYPE, one line each. In a path, [] is an element
// of a list and {} an element of a map.
func listTypes() {
	for _, t := range []reflect.Type{
		reflect.TypeFor[corev1.Pod](),
		reflect.TypeFor[kubeletv1beta1.KubeletConfiguration](),
		reflect.TypeFor[kubeletv1beta1.CredentialProviderConfig](),
		reflect.TypeFor[schedulerv1.KubeSchedulerConfiguration](),
		reflect.TypeFor[auditv1.Policy](),
		reflect.TypeFor[apiserverv1.AuthorizationConfiguration](),
		reflect.TypeFor[apiserverv1.AuthenticationConfiguration](),
		reflect.TypeFor[apiserverv1.EncryptionConfiguration](),
		reflect.TypeFor[proxyv1alpha1.KubeProxyConfiguration](),
	} {
		walk(t.Name(), "", t)
	}
}

var leaves = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():      "quantity",
	reflect.TypeFor[resource.QuantityValue](): "quantity",
	reflect.TypeFor[intstr.IntOrString]():     "intOrString",
	reflect.TypeFor[metav1.Duration]():        "duration",
	reflect.TypeFor[metav1.Time]():            "time",
	reflect.TypeFor[metav1.MicroTime]():       "time",
	reflect.TypeFor[metav1.FieldsV1]():        "any",
	reflect.TypeFor[[]byte]():                 "string",
}

func walk(kind, path string, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	if leaf, ok := leaves[t]; ok {
		fmt.Println(kind, path, leaf)

		return
	}

	switch {
	case kind == "Pod" && path == ".status":
		fmt.Println(kind, path, "any") // the kubelet writes it

		return
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		fmt.Println(kind, path, "string")

		return
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		fmt.Println(kind, path, "any") // it has its own format

		return
	}

	switch t.Kind() {
	case reflect.Struct:
		if path != "" {
			fmt.Println(kind, path, "object")
		}

		walkFields(kind, path, t)
	case reflect.Slice:
		fmt.Println(kind, path, "list")
		walk(kind, path+"[]", t.Elem())
	case reflect.Map:
		fmt.Println(kind, path, "map")
		walk(kind, path+"{}", t.Elem())
	case reflect.String:
		fmt.Println(kind, path, "string")
	case reflect.Bool:
		fmt.Println(kind, path, "bool")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		fmt.Println(kind, path, t.Kind())
	case reflect.Float32, reflect.Float64:
		fmt.Println(kind, path, "number")
	default:
		fmt.Println(kind, path, "any")
	}
}

// walkFields prints the fields of a struct, including those of inlined structs.
func walkFields(kind, path string, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")

		switch {
		case name == "-":
		case name == "" && (field.Anonymous || strings.Contains(options, "inline")):
			walkFields(kind, path, field.Type)
		default:
			walk(kind, path+"."+name, field.Type)
		}
	}
}

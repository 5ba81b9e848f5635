// SPDX-License-Identifier: Apache-2.0

package k8s

// ArgValues are the values of one command line flag; more than one repeats it.
type ArgValues struct {
	Values []string `yaml:"values" protobuf:"1"`
}

// Args is the extra arguments of a component, by flag without dashes.
type Args = map[string]ArgValues

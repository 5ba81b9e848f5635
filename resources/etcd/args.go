// SPDX-License-Identifier: Apache-2.0

package etcd

// ArgValues are the values of one command line flag; more than one repeats it.
type ArgValues struct {
	Values []string `yaml:"values" protobuf:"1"`
}

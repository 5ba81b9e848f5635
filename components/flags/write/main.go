// SPDX-License-Identifier: Apache-2.0

// Write writes the list of flags of Kubernetes' programs and etcd to a file; see package flags.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/components/flags"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

// write is run in controllers/k8s/flags.
func write() error {
	list, err := flags.List(context.Background(), "../../..")
	if err != nil {
		return err
	}

	return os.WriteFile("flags.txt", list, 0o644) //nolint:gosec // everybody's
}

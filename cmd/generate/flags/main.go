// SPDX-License-Identifier: Apache-2.0

// Command flags writes the lists of flags and fields of Kubernetes' programs and etcd; see package flags.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/build/flags"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "flags:", err)
		os.Exit(1)
	}
}

// write runs in controllers/k8s/flags.
func write() error {
	const root = "../../.."

	work, err := os.MkdirTemp("", "flags")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	list, err := flags.List(context.Background(), root, work)
	if err != nil {
		return err
	}

	types, err := flags.Types(context.Background(), root, work)
	if err != nil {
		return err
	}

	return errors.Join(
		os.WriteFile("flags.txt", list, 0o644),
		os.WriteFile("../schemas/types.txt", types, 0o644),
	)
}

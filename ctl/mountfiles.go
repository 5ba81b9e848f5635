// SPDX-License-Identifier: Apache-2.0

package ctl

import "context"

func mountFiles(context.Context, Node) ([]BundleFile, error) {
	return []BundleFile{TableFile("mounts.txt", mountColumns, Node.Mounts)}, nil
}

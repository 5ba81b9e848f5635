// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"

	"github.com/seed-59268b81/talos/ctl/session"
)

// Files are those of this package in a support bundle.
func Files(context.Context, session.Node) ([]session.BundleFile, error) {
	return []session.BundleFile{session.TableFile("mounts.txt", mountColumns, session.Node.Mounts)}, nil
}

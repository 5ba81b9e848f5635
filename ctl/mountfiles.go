// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"

	"github.com/seed-59268b81/talos/ctl/session"
)

func mountFiles(context.Context, session.Node) ([]session.BundleFile, error) {
	return []session.BundleFile{session.TableFile("mounts.txt", mountColumns, session.Node.Mounts)}, nil
}

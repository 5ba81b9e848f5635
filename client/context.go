// SPDX-License-Identifier: Apache-2.0

package client

import "github.com/seed-59268b81/talos/config/talosconfig"

// Connect returns a client of the endpoints of a context, with its certificates. Name the node to talk to by WithNode.
func Connect(context *talosconfig.Context, options ...Option) (*Client, error) {
	return New(context.Dial(), append([]Option{WithCertificates(context.CA, context.Crt, context.Key)}, options...)...)
}

// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"slices"

	"github.com/seed-59268b81/talos/config/talosconfig"
)

// Connect returns a client of the endpoints of a context, with its certificates, its name and password, and through its
// proxy. Name the node to talk to by WithNode.
func Connect(context *talosconfig.Context, options ...Option) (*Client, error) {
	if context.Auth.SideroV1 != nil {
		return nil, errors.New("the context signs its calls (auth.siderov1), which this client does not support: use a context with a client certificate")
	}

	own := []Option{WithCertificates(context.CA, context.Crt, context.Key)}

	if basic := context.Auth.Basic; basic != nil {
		if len(context.Crt) == 0 {
			own = []Option{WithAuthority(context.CA)}
		}

		own = append(own, WithBasicAuth(basic.Username, basic.Password))
	}

	if context.ProxyURL != "" {
		own = append(own, WithProxy(context.ProxyURL))
	}

	return New(context.Dial(), slices.Concat(own, options)...)
}

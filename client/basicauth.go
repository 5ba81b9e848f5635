// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/base64"

	"google.golang.org/grpc"
)

// WithBasicAuth adds a name and a password to every call, for a gateway in front of the machines. The machines ignore them.
func WithBasicAuth(username, password string) Option {
	return WithDialOptions(grpc.WithPerRPCCredentials(basicAuth{basicAuthorization(username, password)}))
}

type basicAuth struct{ authorization string }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (a basicAuth) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": a.authorization}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (basicAuth) RequireTransportSecurity() bool { return true }

// basicAuthorization returns the value of HTTP's Authorization header (RFC 7617).
func basicAuthorization(username, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
}

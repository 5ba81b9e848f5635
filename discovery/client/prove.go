// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"

	"google.golang.org/grpc/credentials"

	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/seal"
)

// prover adds the proof of the cluster secret to each call.
type prover struct {
	cipher  *seal.Cipher
	cluster string
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (p *prover) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	info, _ := credentials.RequestInfoFromContext(ctx)

	connection, ok := info.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil, errors.New("prove the cluster secret: the connection has no TLS")
	}

	proof, err := p.cipher.Prove(&connection.State, p.cluster)
	if err != nil {
		return nil, err
	}

	return map[string]string{extension.KeyProof: string(proof)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (p *prover) RequireTransportSecurity() bool { return true }

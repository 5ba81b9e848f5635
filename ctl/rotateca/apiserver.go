// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/kube"
)

// reach makes sure that the API servers can be reached before anything is changed.
func (r *run) reach(ctx context.Context, now snapshot) error {
	for _, rotation := range r.rotations {
		if rotation.kind != kubernetes {
			continue
		}

		api, server, err := r.api(rotation, now, untouched)
		if err != nil {
			return err
		}
		defer api.Close()

		if err := r.wait(ctx, "Kubernetes at "+server, func(ctx context.Context) error {
			_, err := api.Nodes(ctx)

			return err
		}); err != nil {
			return fmt.Errorf("%w; nothing was changed: name a way to an API server with --k8s-endpoint", err)
		}
	}

	return nil
}

// api returns a client of the API servers after a step: with a certificate of the authority that issues now, or of the new one once it is
// accepted. Once it issues, it is also the only one that the client trusts.
func (r *run) api(rotation *rotation, now snapshot, done level) (*kube.Client, string, error) {
	for i, m := range now.members[kubernetes] {
		if !m.controlPlane {
			continue
		}

		issuing, key, roots := rotation.new, rotation.key, []*x509.Certificate{rotation.new}

		if done < accept {
			issuing, key = m.trust.issuing, m.trust.key
		}

		if done < issue {
			roots = append(m.trust.all(), rotation.old, rotation.new)
		}

		return kubernetesAt(now.configs[i], r.endpoint, rotation.old, issuing, key, roots...)
	}

	return nil, "", errors.New("there is no control plane node")
}

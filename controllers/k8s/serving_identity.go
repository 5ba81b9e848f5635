// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// servingIdentityLifetime of the approver's certificate, which is in memory alone. It is renewed at half of it.
const servingIdentityLifetime = 24 * time.Hour

// servingIdentity is who approves: a user that may do that, by the manifest 01-csr-serving-approver, and nothing else.
type servingIdentity struct {
	pair      pki.Pair
	authority string
	renew     time.Time
	timer     *time.Timer
}

// get returns the certificate, and signs one when there is none, it is half its age, or the authority is another. It calls due when
// it is to be renewed.
func (s *servingIdentity) get(authority secrets.KubernetesRootSpec, now time.Time, due func()) (pki.Pair, error) {
	if s.authority == string(authority.IssuingCA.Crt) && now.Before(s.renew) {
		return s.pair, nil
	}

	ca, err := pki.ParseCA(authority.IssuingCA.Crt, authority.IssuingCA.Key)
	if err != nil {
		return pki.Pair{}, fmt.Errorf("cluster.ca: %w", err)
	}

	const user = manifests.ServingApprover

	pair, err := ca.Sign(pki.LeafOptions{CommonName: user, Organization: []string{user}, Client: true, TTL: servingIdentityLifetime})
	if err != nil {
		return pki.Pair{}, fmt.Errorf("certificate of %s: %w", user, err)
	}

	if s.timer != nil {
		s.timer.Stop()
	}

	s.pair, s.authority, s.renew = pair, string(authority.IssuingCA.Crt), now.Add(servingIdentityLifetime/2)
	s.timer = time.AfterFunc(servingIdentityLifetime/2, due)

	return pair, nil
}

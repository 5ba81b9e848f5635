// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// servingIdentityLifetime is the lifetime of the approver's certificate, which is only in memory. It is renewed after half of that.
const servingIdentityLifetime = 24 * time.Hour

// servingIdentity is the user that approves requests. The manifest 01-csr-serving-approver permits it that, and nothing else.
type servingIdentity struct {
	pair      pki.Pair
	authority string
	renew     time.Time
	timer     *time.Timer
}

// get returns the certificate. It signs a new one if there is none, after half of its lifetime, and when the authority has changed. It calls
// due when the certificate must be renewed.
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

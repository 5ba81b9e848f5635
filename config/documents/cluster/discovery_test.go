// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/documents/cluster"
)

// TestIdentity: existing clients write identities in the form of base64 for URLs.
func TestIdentity(t *testing.T) {
	for text, valid := range map[string]bool{
		"cLSu6XVsIEpLqcZon1PmazJAGCAtq-JBnHDyNFKnFxU=": true,
		"cLSu6XVsIEpLqcZon1PmazJAGCAtq+JBnHDyNFKnFxU=": true,
		"cLSu6XVsIEpLqcZon1PmazJAGCAtq+JBnHDyNFKn":     false,
		"of another kind": false,
	} {
		r := document.Check(&cluster.DiscoveryIdentityConfig{ClusterID: text, ClusterSecret: text})
		if (len(r.Findings) == 0) != valid {
			t.Errorf("%s: got %v, want valid: %t", text, r.Findings, valid)
		}

		if strings.Contains(r.Findings.Error(), text) {
			t.Errorf("%v shows the secret", r.Findings)
		}
	}
}

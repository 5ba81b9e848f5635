// SPDX-License-Identifier: Apache-2.0

package k8s_test

import (
	"testing"

	"github.com/seed-59268b81/talos/config/secrets"
)

func generateSecrets(t *testing.T) *secrets.Bundle {
	t.Helper()

	bundle, err := secrets.New()
	if err != nil {
		t.Fatal(err)
	}

	return bundle
}

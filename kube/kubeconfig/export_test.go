// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import "net/url"

// SetEnvironmentProxy replaces the proxy of the environment, until the returned function is called.
func SetEnvironmentProxy(proxy string) func() {
	before := environmentProxy

	environmentProxy = func(*url.URL) (*url.URL, error) {
		if proxy == "" {
			return nil, nil
		}

		return url.Parse(proxy)
	}

	return func() { environmentProxy = before }
}

// SPDX-License-Identifier: Apache-2.0

package k8s

import "github.com/seed-59268b81/talos/kube"

// localAPI keeps one connection to the API server of this node across reconciles: while that server starts it gets many requests, and a
// handshake costs it more than an answer.
type localAPI struct {
	text   string
	client *kube.Client
}

// get returns the client for a kubeconfig, and closes the previous client when the kubeconfig has changed.
func (l *localAPI) get(text string) (*kube.Client, error) {
	if l.client != nil && l.text == text {
		return l.client, nil
	}

	client, err := kube.NewFromText([]byte(text))
	if err != nil {
		return nil, err
	}

	if l.client != nil {
		l.client.Close()
	}

	l.text, l.client = text, client

	return client, nil
}

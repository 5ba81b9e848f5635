// SPDX-License-Identifier: Apache-2.0

// Package dashboard shows machines on a terminal: their state, logs, resources and networks.
//
// The model is a value that messages change and from which the screen is drawn. It does no I/O. The feed talks to each node
// independently, so a node that is down does not delay the others. It watches the resources that are shown, polls numbers once an
// interval with a timeout, and sends the answers to the model as messages. The log of a service and the resources of a type are followed
// only while their screen is shown.
package dashboard

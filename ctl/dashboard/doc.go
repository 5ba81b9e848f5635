// SPDX-License-Identifier: Apache-2.0

// Package dashboard shows machines on a terminal: what each is doing, its logs, its resources and its network.
//
// The model is a value that messages change and from which the screen is drawn; it talks to nobody. The feed talks to
// the nodes, each by itself, so that one that is dead holds up no other: it watches the resources that are shown, asks
// for numbers once an interval, with a limit on each question, and sends what it learns as messages. What a screen alone
// needs, a log or the resources of a type, is followed only while that screen is on.
package dashboard

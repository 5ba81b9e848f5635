// SPDX-License-Identifier: Apache-2.0

// Package client publishes this machine to one discovery source and watches the others.
//
// A Session connects, says hello, publishes, and follows the changes of the others. When the connection ends, it connects again, after a
// delay that grows. It publishes again after half of the TTL, which services of ours tell no one. Its View is replaced as a whole.
//
// Any service of the protocol can be a source. One of ours is told what the session already has (package extension), so that it
// sends the rest only. After a restart of the service, members that it does not have yet stay in the view until they would have expired:
// a service that has lost its memory makes no member disappear.
package client

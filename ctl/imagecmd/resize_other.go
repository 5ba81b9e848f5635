// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package imagecmd

// onResize does nothing: this system has no signal for it.
func onResize(func()) (ignore func()) { return func() {} }

// SPDX-License-Identifier: Apache-2.0

package nethelpers

// LinkFlags are the flags of a link (IFF_*).
type LinkFlags uint32

// The link flags.
const (
	LinkUp           LinkFlags = 1 << 0
	LinkBroadcast    LinkFlags = 1 << 1
	LinkDebug        LinkFlags = 1 << 2
	LinkLoopback     LinkFlags = 1 << 3
	LinkPointToPoint LinkFlags = 1 << 4
	LinkNoTrailers   LinkFlags = 1 << 5
	LinkRunning      LinkFlags = 1 << 6
	LinkNoARP        LinkFlags = 1 << 7
	LinkPromisc      LinkFlags = 1 << 8
	LinkAllMulti     LinkFlags = 1 << 9
	LinkMaster       LinkFlags = 1 << 10
	LinkSlave        LinkFlags = 1 << 11
	LinkMulticast    LinkFlags = 1 << 12
	LinkPortSelect   LinkFlags = 1 << 13
	LinkAutoMedia    LinkFlags = 1 << 14
	LinkDynamic      LinkFlags = 1 << 15
	LinkLowerUp      LinkFlags = 1 << 16
	LinkDormant      LinkFlags = 1 << 17
	LinkEcho         LinkFlags = 1 << 18
)

var linkFlagsNames = bits[LinkFlags]{
	{LinkUp, "UP"},
	{LinkBroadcast, "BROADCAST"},
	{LinkDebug, "DEBUG"},
	{LinkLoopback, "LOOPBACK"},
	{LinkPointToPoint, "POINTTOPOINT"},
	{LinkNoTrailers, "NOTRAILERS"},
	{LinkRunning, "RUNNING"},
	{LinkNoARP, "NOARP"},
	{LinkPromisc, "PROMISC"},
	{LinkAllMulti, "ALLMULTI"},
	{LinkMaster, "MASTER"},
	{LinkSlave, "SLAVE"},
	{LinkMulticast, "MULTICAST"},
	{LinkPortSelect, "PORTSEL"},
	{LinkAutoMedia, "AUTOMEDIA"},
	{LinkDynamic, "DYNAMIC"},
	{LinkLowerUp, "LOWER_UP"},
	{LinkDormant, "DORMANT"},
	{LinkEcho, "ECHO"},
}

// String implements fmt.Stringer.
func (l LinkFlags) String() string { return linkFlagsNames.text(l) }

// MarshalText implements encoding.TextMarshaler.
func (l LinkFlags) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *LinkFlags) UnmarshalText(text []byte) error {
	return linkFlagsNames.parse("link flags", text, l)
}

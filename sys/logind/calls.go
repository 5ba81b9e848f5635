// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logind

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// The names of the bus and of the login manager.
const (
	busInterface     = "org.freedesktop.DBus"
	managerName      = "org.freedesktop.login1"
	managerInterface = "org.freedesktop.login1.Manager"
	managerPath      = dbus.ObjectPath("/org/freedesktop/login1")
)

// inhibitDelayMax is the reported maximum by which a lock delays the shutdown. A kubelet with a longer grace period would not take a
// lock. The caller of PrepareForShutdown decides how long to wait.
const inhibitDelayMax = 24 * time.Hour

// Names of errors that clients know.
const (
	errUnknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
	errInvalidArgs   = "org.freedesktop.DBus.Error.InvalidArgs"
	errFailed        = "org.freedesktop.DBus.Error.Failed"
	errNotSupported  = "org.freedesktop.DBus.Error.NotSupported"
)

// result of a call.
type result struct {
	body []any
	file *os.File // the file whose descriptor is in the body; closed after it was sent
}

// calls are the methods, by interface and name.
var calls = map[string]func(p *peer, args []string) (result, error){
	busInterface + ".Hello": func(p *peer, _ []string) (result, error) { return result{body: []any{p.name}}, nil },
	busInterface + ".AddMatch": func(p *peer, args []string) (result, error) {
		return result{}, p.changeRules(args, func(rules []rule, r rule) []rule { return append(rules, r) })
	},
	busInterface + ".RemoveMatch": func(p *peer, args []string) (result, error) {
		return result{}, p.changeRules(args, func(rules []rule, r rule) []rule {
			if i := slices.Index(rules, r); i >= 0 {
				return slices.Delete(rules, i, i+1)
			}

			return rules
		})
	},
	busInterface + ".Peer.Ping":      func(*peer, []string) (result, error) { return result{}, nil },
	busInterface + ".Properties.Get": property,
	managerInterface + ".Inhibit":    inhibit,
}

// callError is an error with its name for D-Bus.
type callError struct {
	name string
	err  error
}

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

func refuse(name, format string, args ...any) error {
	return &callError{name: name, err: fmt.Errorf(format, args...)}
}

// wanted returns an error unless the arguments are as many strings as there are names.
func wanted(args []string, names ...string) error {
	if len(args) != len(names) {
		return refuse(errInvalidArgs, "want %d strings: %s", len(names), strings.Join(names, ", "))
	}

	return nil
}

func property(_ *peer, args []string) (result, error) {
	if err := wanted(args, "interface", "property"); err != nil {
		return result{}, err
	}

	if args[0] != managerInterface || args[1] != "InhibitDelayMaxUSec" {
		return result{}, refuse("org.freedesktop.DBus.Error.UnknownProperty", "unknown property %s.%s", args[0], args[1])
	}

	return result{body: []any{dbus.MakeVariant(uint64(inhibitDelayMax.Microseconds()))}}, nil
}

func inhibit(p *peer, args []string) (result, error) {
	if err := wanted(args, "what", "who", "why", "mode"); err != nil {
		return result{}, err
	}

	what, who, why, mode := args[0], args[1], args[2], args[3]

	if what != "shutdown" || mode != "delay" {
		return result{}, refuse(errNotSupported, "only shutdown can be inhibited, with mode delay: got %s with mode %s", what, mode)
	}

	file, err := p.bus.inhibit(who, why)
	if err != nil {
		return result{}, &callError{name: errFailed, err: err}
	}

	return result{body: []any{dbus.UnixFD(file.Fd())}, file: file}, nil
}

// answer carries out a call and replies to it.
func (p *peer) answer(msg message) error {
	var (
		got result
		err = refuse(errUnknownMethod, "unknown method %s.%s", msg.iface, msg.member)
	)

	if call := calls[msg.iface+"."+msg.member]; call != nil {
		got, err = call(p, msg.args)
	}

	if got.file != nil {
		defer got.file.Close()
	}

	if msg.flags&dbus.FlagNoReplyExpected != 0 {
		return nil
	}

	reply := &dbus.Message{
		Type: dbus.TypeMethodReply,
		Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldReplySerial: dbus.MakeVariant(msg.serial),
			dbus.FieldSender:      dbus.MakeVariant(busInterface),
			dbus.FieldDestination: dbus.MakeVariant(p.name),
		},
		Body: got.body,
	}

	if failed := (*callError)(nil); errors.As(err, &failed) {
		reply.Type, reply.Body = dbus.TypeError, []any{failed.Error()}
		reply.Headers[dbus.FieldErrorName] = dbus.MakeVariant(failed.name)
	}

	if got.file != nil {
		return p.send(reply, got.file)
	}

	return p.send(reply)
}

// rule selects the signals that a client receives; an empty field matches all.
type rule struct{ kind, iface, member, path, sender string }

// parseRule reads key='value' pairs. Values with a comma or a quote are not supported.
func parseRule(text string) (rule, error) {
	var (
		r      rule
		unused string
		fields = map[string]*string{
			"type": &r.kind, "interface": &r.iface, "member": &r.member, "path": &r.path, "sender": &r.sender, "eavesdrop": &unused,
		}
	)

	if text == "" {
		return r, nil // it matches all
	}

	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		field := fields[key]

		if !ok || field == nil {
			return rule{}, refuse("org.freedesktop.DBus.Error.MatchRuleInvalid", "match rule %q: %q is not supported", text, pair)
		}

		*field = strings.Trim(value, "'")
	}

	return r, nil
}

func (r rule) matches(iface, member string, path dbus.ObjectPath) bool {
	is := func(want, got string) bool { return want == "" || want == got }

	return is(r.kind, "signal") && is(r.iface, iface) && is(r.member, member) && is(r.path, string(path)) && is(r.sender, managerName)
}

// maxRules is the most rules of one client.
const maxRules = 64

func (p *peer) changeRules(args []string, change func([]rule, rule) []rule) error {
	if err := wanted(args, "rule"); err != nil {
		return err
	}

	r, err := parseRule(args[0])
	if err != nil {
		return err
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	changed := change(p.rules, r)
	if len(changed) > maxRules {
		return refuse("org.freedesktop.DBus.Error.LimitsExceeded", "a client has %d match rules at most", maxRules)
	}

	p.rules = changed

	return nil
}

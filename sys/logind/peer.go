// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logind

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// maxLine is the longest line of the authentication in bytes: the size of the read buffer.
const maxLine = 4096

// writeTime is how long a client may take to read a message.
const writeTime = 5 * time.Second

// peer is one client.
type peer struct {
	bus  *Bus
	conn *net.UnixConn
	name string

	mu     sync.Mutex // guards the fields below, and writes
	serial uint32
	rules  []rule
}

func (p *peer) serve() error {
	defer p.conn.Close()

	if err := p.checkUser(); err != nil {
		return err
	}

	in := bufio.NewReaderSize(p.conn, maxLine)

	if err := p.authenticate(in); err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}

	b := p.bus

	b.mu.Lock()
	b.named++
	p.name = fmt.Sprintf(":1.%d", b.named)
	b.peers[p] = true
	b.mu.Unlock()

	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		delete(b.peers, p)
	}()

	for {
		msg, err := readMessage(in)
		if err != nil {
			return err
		}

		if msg.kind != dbus.TypeMethodCall {
			continue // no call of ours is pending
		}

		if err := p.answer(msg); err != nil {
			return err
		}
	}
}

// checkUser refuses processes of other users, even if they were passed the socket.
func (p *peer) checkUser() error {
	raw, err := p.conn.SyscallConn()
	if err != nil {
		return err
	}

	var (
		cred    *unix.Ucred
		credErr error
	)

	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}

	if credErr != nil {
		return fmt.Errorf("read the credentials of the client: %w", credErr)
	}

	if int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("user %d is not allowed", cred.Uid)
	}

	return nil
}

// authenticate is the server's side of the handshake. The kernel has already identified the client
// (https://dbus.freedesktop.org/doc/dbus-specification.html#auth-protocol).
func (p *peer) authenticate(in *bufio.Reader) error {
	if b, err := in.ReadByte(); err != nil || b != 0 {
		return errors.Join(errors.New("a connection must begin with a zero byte"), err)
	}

	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}

		answer := ""

		switch words := strings.Fields(string(line)); {
		case len(words) == 0:
			answer = "ERROR"
		case words[0] == "AUTH" && len(words) > 1 && words[1] == "EXTERNAL":
			answer = "OK " + hex.EncodeToString([]byte("talos-system-bus"))
		case words[0] == "AUTH", words[0] == "CANCEL", words[0] == "ERROR":
			answer = "REJECTED EXTERNAL"
		case words[0] == "DATA":
			answer = "OK " + hex.EncodeToString([]byte("talos-system-bus"))
		case words[0] == "NEGOTIATE_UNIX_FD":
			answer = "AGREE_UNIX_FD"
		case words[0] == "BEGIN":
			return nil
		default:
			answer = "ERROR"
		}

		if _, err := p.conn.Write([]byte(answer + "\r\n")); err != nil {
			return err
		}
	}
}

// send writes a message. Files are duplicated to the client.
func (p *peer) send(msg *dbus.Message, files ...*os.File) error {
	if len(msg.Body) > 0 {
		msg.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(msg.Body...))
	}

	if len(files) > 0 {
		msg.Headers[dbus.FieldUnixFDs] = dbus.MakeVariant(uint32(len(files)))
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	var out bytes.Buffer

	fds, err := msg.EncodeToWithFDs(&out, binary.LittleEndian)
	if err != nil {
		return err
	}

	// The encoder does not set the serial number, which is at the same place in every message.
	p.serial++
	binary.LittleEndian.PutUint32(out.Bytes()[8:], p.serial)

	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}

	// A client that does not read must not block the others.
	if err := p.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}

	_, _, err = p.conn.WriteMsgUnix(out.Bytes(), rights, nil)

	return err
}

// signal sends a signal if a rule of the client matches it.
func (p *peer) signal(iface, member string, path dbus.ObjectPath, body ...any) error {
	p.mu.Lock()
	wanted := slices.ContainsFunc(p.rules, func(r rule) bool { return r.matches(iface, member, path) })
	p.mu.Unlock()

	if !wanted {
		return nil
	}

	return p.send(&dbus.Message{
		Type: dbus.TypeSignal, Flags: dbus.FlagNoReplyExpected,
		Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldInterface: dbus.MakeVariant(iface),
			dbus.FieldMember:    dbus.MakeVariant(member),
			dbus.FieldPath:      dbus.MakeVariant(path),
			dbus.FieldSender:    dbus.MakeVariant(managerName),
		},
		Body: body,
	})
}

package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"tapedeck/bridge/bridgetest"
)

// secured returns the contenders of list with keys of SROS 2, once with signed and once with encrypted messages. If
// keys cannot be made it prints why, and returns none.
func (b *bench) secured(list []contender) (all []contender, err error) {
	defer func() {
		if p := recover(); p != nil {
			failed, ok := p.(failure)
			if !ok {
				panic(p)
			}
			fmt.Println("not measured with SROS 2:", failed)
			all = nil
		}
	}()
	domain, err := strconv.Atoi(os.Getenv("ROS_DOMAIN_ID"))
	if err != nil {
		return nil, err
	}
	for _, kind := range []struct{ name, protection string }{{"signed", "SIGN"}, {"encrypted", "ENCRYPT"}} {
		keys := bridgetest.NewKeystore(setup{folder: b.folder}, domain)
		keys.Govern(kind.protection)
		keys.Add("/bench", bridgetest.Enclave{})
		for _, c := range list {
			c.name, c.keys, c.environment = c.name+", "+kind.name, kind.name, keys.Environment("/bench")
			all = append(all, c)
		}
	}
	return all, nil
}

// setup lets helpers of tests run outside of tests. Its methods panic with a failure.
type setup struct {
	testing.TB
	folder string // of temporary folders
}

// failure is the text of a failed or skipped helper.
type failure string

func (setup) Helper()                           {}
func (setup) Errorf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
func (setup) Skip(args ...any)                  { panic(failure(fmt.Sprint(args...))) }

func (s setup) TempDir() string {
	folder, err := os.MkdirTemp(s.folder, "keystore-*")
	if err != nil {
		panic(failure(err.Error()))
	}
	return folder
}

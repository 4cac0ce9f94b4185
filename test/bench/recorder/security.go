package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"tapedeck/bridge/bridgetest"
)

// secured returns contenders which have keys of SROS 2, as their publishers have: messages are signed, or encrypted as
// well. It prints why there are none.
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

// setup lets helpers of tests run outside of tests, with a failure as a panic.
type setup struct {
	testing.TB
	folder string
}

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

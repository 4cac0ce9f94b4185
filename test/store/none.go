//go:build !versitygw

package main

import "errors"

func serve(_, _ string) error { return errors.New("this executable was built without versitygw") }

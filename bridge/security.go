package bridge

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Security describes how a node takes part in SROS 2.
type Security struct {
	Enclave string // enclave of the node, as the graph knows it
	Keys    string // folder with the keys and permissions of the enclave; "" is without security
	Enforce bool   // the node cannot be created without keys
	Unsure  bool   // the middleware may go on without security and does not report it
}

// String returns a text for users: "off", or "on, enclave /talker, keys in /keystore/enclaves/talker, Enforce".
func (s Security) String() string {
	if s.Keys == "" {
		return "off"
	}
	strategy := "Permissive"
	if s.Enforce {
		strategy = "Enforce"
	}
	if s.Unsure {
		return fmt.Sprintf("asked for (%s), enclave %s, keys in %s; the RMW implementation may go on without it",
			strategy, s.Enclave, s.Keys)
	}
	return fmt.Sprintf("on, enclave %s, keys in %s, %s", s.Enclave, s.Keys, strategy)
}

// Files of an enclave, below Security.Keys.
const (
	IdentityCAFile    = "identity_ca.cert.pem"
	CertificateFile   = "cert.pem"
	PrivateKeyFile    = "key.pem"
	PermissionsCAFile = "permissions_ca.cert.pem"
	GovernanceFile    = "governance.p7s"
	PermissionsFile   = "permissions.p7s"
	RevocationFile    = "crl.pem" // may be missing
)

var enclaveName = regexp.MustCompile(`^(?:/|(?:/[A-Za-z_][A-Za-z0-9_]*)+)$`)

func checkEnclave(what, name string) error {
	if !enclaveName.MatchString(name) || len(name) > 255 {
		return fmt.Errorf("%s is %q, want a name such as /robot/talker of letters, digits and _, which begins with /",
			what, name)
	}
	return nil
}

// NewSecurity returns the security that ROS_SECURITY_ENABLE, ROS_SECURITY_STRATEGY, ROS_SECURITY_KEYSTORE and
// ROS_SECURITY_ENCLAVE_OVERRIDE ask for. enclave is the enclave of the node; "" is /. warnings are for the user.
func NewSecurity(enclave string, getenv func(string) string) (s Security, warnings []string, err error) {
	s.Enclave = enclave
	if enclave == "" {
		s.Enclave = "/"
	}
	if err := checkEnclave("the enclave", s.Enclave); err != nil {
		return s, nil, err
	}
	switch enable := getenv("ROS_SECURITY_ENABLE"); enable {
	case "true":
	case "", "false":
		return s, nil, nil
	default:
		warnings = []string{fmt.Sprintf("security is off: ROS_SECURITY_ENABLE is %q, and only true turns it on",
			enable)}
		return s, warnings, nil
	}
	s.Enforce = getenv("ROS_SECURITY_STRATEGY") == "Enforce"
	keys, err := findKeys(s.Enclave, getenv)
	switch {
	case err == nil:
		s.Keys = keys
	case s.Enforce:
		return s, nil, fmt.Errorf("security: %w", err)
	default:
		warnings = append(warnings, fmt.Sprintf("security is off, as ROS_SECURITY_STRATEGY is not Enforce: %v", err))
	}
	return s, warnings, nil
}

// findKeys returns the folder of an enclave. It fails if a file is missing in the folder.
func findKeys(enclave string, getenv func(string) string) (string, error) {
	store := getenv("ROS_SECURITY_KEYSTORE")
	if store == "" {
		return "", fmt.Errorf("ROS_SECURITY_KEYSTORE is not set")
	}
	if name := getenv("ROS_SECURITY_ENCLAVE_OVERRIDE"); name != "" {
		if err := checkEnclave("ROS_SECURITY_ENCLAVE_OVERRIDE", name); err != nil {
			return "", err
		}
		enclave = name
	}
	folder := filepath.Join(store, "enclaves", enclave)
	if stat, err := os.Stat(folder); err != nil || !stat.IsDir() {
		return "", fmt.Errorf("the keystore has no folder %s for the enclave %s", folder, enclave)
	}
	var missing []string
	for _, name := range []string{
		IdentityCAFile, CertificateFile, PrivateKeyFile, PermissionsCAFile, GovernanceFile, PermissionsFile,
	} {
		if stat, err := os.Stat(filepath.Join(folder, name)); err != nil || !stat.Mode().IsRegular() {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return "", fmt.Errorf("%s lacks %s: %w", folder, strings.Join(missing, ", "), fs.ErrNotExist)
	}
	return filepath.Abs(folder)
}

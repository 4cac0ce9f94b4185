"""Prints the contents of an HDF5 file as JSON, as h5py reads them: peer.py FILE KIND:PATH...

KIND is numbers, strings or pictures."""

import json
import sys

import h5py
import numpy as np


def attribute(value):
    return value.item() if isinstance(value, np.generic) else value


def link_target(name, group):
    """Returns the link of that name, or None if it is an object."""
    link = group.get(name, getlink=True)
    if isinstance(link, h5py.SoftLink):
        return {'link': link.path}
    if isinstance(link, h5py.ExternalLink):
        return {'link': link.filename + ':' + link.path}
    return None


def walk(group, path, out):
    for name in group:
        item_path = path + '/' + name
        link = link_target(name, group)
        if link:
            out[item_path] = link
            continue
        item = group[name]
        entry = {'attributes': {k: attribute(v) for k, v in item.attrs.items()}}
        if isinstance(item, h5py.Dataset):
            vlen = h5py.check_vlen_dtype(item.dtype)
            string = h5py.check_string_dtype(item.dtype)
            entry['shape'] = list(item.shape)
            if string:
                entry['type'] = string.encoding
            else:
                entry['type'] = 'vlen ' + np.dtype(vlen).str if vlen else item.dtype.str
            entry['compression'] = item.compression or ''
            entry['chunks'] = list(item.chunks or [])
        out[item_path] = entry
        if isinstance(item, h5py.Group):
            walk(item, item_path, out)


def pictures(images):
    """Returns size, first two bytes and last two bytes of each picture, without the zeros behind a padded JPEG."""
    ends = []
    for element in images:
        assert isinstance(element, np.ndarray) and element.dtype == np.uint8, type(element)
        data = np.frombuffer(element, np.uint8).tobytes()
        data = data.rstrip(b'\0') if element.ndim == 1 else data
        ends.append([len(data), data[:2].hex(), data[-2:].hex()])
    return ends


with h5py.File(sys.argv[1], 'r') as f:
    out = {'root': {k: attribute(v) for k, v in f.attrs.items()}, 'items': {}}
    walk(f, '', out['items'])
    for path in sys.argv[2:]:
        kind, path = path.split(':', 1)
        value = f[path]
        if kind == 'numbers':
            found = np.where(np.isnan(value[()].astype(float)), None, value[()].astype(float)).tolist()
        elif kind == 'strings':
            found = value.asstr()[()].tolist()
        else:
            found = pictures(value[:])
        out[path] = found
    print(json.dumps(out))

import t from 'tap'
import { lines } from '../support/config.ts'

t.test('no key is another key, and none has the name of another', async t => {
  const yaml = 'keys:\n- {name: admin, key: env:A}\n- {name: web, key: env:B, endpoints: [chat]}\n- {name: environment-2d711642b726, key: env:C}'
  t.same(lines(t, yaml, { A: 'same', B: 'same', C: 'other', HEADGATE_API_KEYS: 'x,y\u200b' }), [
    'environment  HEADGATE_API_KEYS  key 2 contains a character not allowed in headers (position 2)',
    'headgate.yaml:3:20  keys[1].key  is the same as that of another key',
    'headgate.yaml:4:10  keys[2].name  is the name of a key in HEADGATE_API_KEYS'
  ])
  t.same(lines(t, yaml, { A: 'a', B: 'b', C: 'c', HEADGATE_API_KEYS: 'b' }), [
    'environment  HEADGATE_API_KEYS  key 1 is the same as that of an entry of keys'
  ], 'it would widen what the other may do')
})

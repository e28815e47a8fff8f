import t from 'tap'
import { presentedKeys } from '../../lib/core/presented-keys.ts'

t.test('each header is read as its clients write it', async t => {
  const rows: ReadonlyArray<readonly [headers: Record<string, string | string[]>, keys: string[]]> = [
    [{ authorization: 'Bearer a b' }, ['a b']],
    [{ authorization: 'bearer a' }, ['a']],
    [{ authorization: 'Basic a' }, []],
    [{ 'x-api-key': 'a' }, ['a']],
    [{ 'x-api-key': 'Bearer a' }, ['Bearer a']],
    [{ 'api-key': 'a' }, ['a']],
    [{ 'x-goog-api-key': 'a' }, ['a']],
    [{ 'x-litellm-api-key': 'a' }, ['a']],
    [{ 'x-litellm-api-key': 'Bearer a' }, ['a']],
    [{ 'x-api-key': ['a', 'b'] }, []],
    [{}, []]
  ]
  for (const [headers, keys] of rows) t.same(presentedKeys(headers), keys, JSON.stringify(headers))
})

t.test('the key that counts first is first, in whichever order the headers came', async t => {
  const headers = {
    'x-goog-api-key': '5',
    'api-key': '4',
    'x-api-key': '3',
    authorization: 'Bearer 2',
    'x-litellm-api-key': '1'
  }
  t.same(presentedKeys(headers), ['1', '2', '3', '4', '5'])
})

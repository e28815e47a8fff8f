import t from 'tap'
import { jsonBody } from '../../lib/providers/json-body.ts'
import { bufferBody } from '../../lib/wire/buffer-body.ts'

t.test('a body is a text; that of a large request is printed whenever it is sent', async t => {
  const value = { image: 'A'.repeat(3_000_000), list: [1, { a: 'ä' }] }
  t.equal(jsonBody(value, {}), JSON.stringify(value))
  const body = jsonBody(value, { isLarge: true })
  t.type(body, 'function')
  for (let attempt = 0; attempt < 2; attempt++) t.ok((await bufferBody(body)).toString() === JSON.stringify(value))
})

import t from 'tap'
import { describeError, hasCode, loggableError } from '../../lib/text/describe-error.ts'

t.test('the log gets the name, the code and three lines of the stack', async t => {
  const error = Object.assign(new TypeError('it failed\nat a second line'), {
    code: 'ECONNRESET',
    body: 'what was said'
  })
  const described = loggableError(error) as { readonly at: string[] }
  t.strictSame(
    { ...described, at: [] },
    { name: 'TypeError', message: 'it failed\nat a second line', code: 'ECONNRESET', at: [] }
  )
  t.equal(described.at.length, 3)
  for (const line of described.at) t.match(line, /^at .*:\d+:\d+\)?$/)
})

t.test('text quoted by a parser is left out', async t => {
  const error = new SyntaxError('Unexpected token in "my secret prompt"')
  t.match(loggableError(error), { name: 'SyntaxError', message: undefined })
  t.equal(describeError(error), 'The response cannot be read.')
})

t.test('keys are redacted from messages, texts and objects', async t => {
  const key = `sk-${'a1b2'.repeat(8)}`
  for (const cause of [new Error(`refused ${key}`), `refused ${key}`, { refused: key }]) {
    t.notMatch(JSON.stringify(loggableError(cause)), key)
    t.notMatch(describeError(cause), key)
  }
})

t.test('a value that is not an error is logged as JSON', async t => {
  t.equal(loggableError({ a: 1 }), '{"a":1}')
  t.equal(loggableError('text'), 'text')
  t.equal(loggableError(undefined), '')
})

t.test('a code that is neither a string nor a number is left out', async t => {
  t.equal(
    (loggableError(Object.assign(new Error('x'), { code: { secret: 1 } })) as { code: unknown }).code,
    undefined
  )
})

t.test('people see the cause in brackets, unless the message includes it', async t => {
  t.equal(
    describeError(new Error('fetch failed', { cause: new Error('ECONNREFUSED') })),
    'fetch failed (ECONNREFUSED)'
  )
  t.equal(
    describeError(new Error('refused: ECONNREFUSED', { cause: new Error('ECONNREFUSED') })),
    'refused: ECONNREFUSED'
  )
  t.equal(describeError(new Error('alone', { cause: 'a text' })), 'alone')
  t.equal(describeError('a text'), 'a text')
})

t.test('system errors are recognised by their code', async t => {
  const gone = Object.assign(new Error('no such file'), { code: 'ENOENT' })
  t.ok(hasCode(gone, 'ENOENT'))
  t.notOk(hasCode(gone, 'EEXIST'))
  t.notOk(hasCode({ code: 'ENOENT' }, 'ENOENT'))
})

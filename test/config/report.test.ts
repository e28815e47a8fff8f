import t from 'tap'
import { readDocument } from '../../lib/config/config-document.ts'
import { ConfigError } from '../../lib/config/problems.ts'
import { createReport, reportFor, type Report } from '../../lib/config/report.ts'

const document = readDocument('server:\n  port: x\nkeys:\n  - name: a\n', 'headgate.yaml')

function thrown (report: Report): ConfigError {
  try {
    report.throwIfAny()
  } catch (error) {
    if (error instanceof ConfigError) return error
  }
  throw new Error('nothing was reported')
}

t.test('problems are in the order of the file, each with its place', async t => {
  const report = createReport(document, new Map())
  t.doesNotThrow(() => report.throwIfAny())
  report.add(['keys', 0, 'name'], 'is taken', { suggestion: 'b' })
  report.add(['server', 'port'], 'must be a number')
  report.add(['server', 'port'], 'and more that follows from it')
  report.warn(['keys'], 'look at these', { part: 'name' })
  const error = thrown(report)
  t.strictSame(error.problems, [
    { file: 'headgate.yaml', line: 2, column: 9, path: 'server.port', message: 'must be a number' },
    {
      file: 'headgate.yaml',
      line: 4,
      column: 11,
      path: 'keys[0].name',
      message: 'is taken',
      suggestion: 'b'
    }
  ])
  t.strictSame(error.warnings, [
    { file: 'headgate.yaml', line: 3, column: 1, path: 'keys', message: 'look at these' }
  ])
  t.strictSame(report.warnings(), error.warnings)
})

t.test('consequences of another problem are not reported', async t => {
  const report = createReport(document, new Map())
  report.add(['server', 'port'], 'must be a number')
  report.add(['keys', 0], 'has no port', { unless: ['server', 'port'] })
  report.warn(['server', 'port'], 'is odd')
  t.equal(thrown(report).problems.length, 1)
  t.same(report.warnings(), [])
})

t.test('an entry set by a variable is reported under the name of the variable', async t => {
  const report = createReport(
    document,
    new Map([
      ['server.port', 'PORT'],
      ['providers.sandbox', 'HEADGATE_SANDBOX']
    ] as const)
  )
  report.add(['server', 'port'], 'must be a number')
  report.add(['providers', 'sandbox'], 'must be an object')
  t.strictSame(thrown(report).problems, [
    { file: 'environment', line: 0, column: 0, path: 'PORT', message: 'must be a number' },
    { file: 'environment', line: 0, column: 0, path: 'HEADGATE_SANDBOX', message: 'must be on or off' }
  ])
})

t.test(
  'problems of other files come last, and renamed entries are reported where they were written',
  async t => {
    const report = createReport(document, new Map())
    const other = { file: 'own.json', line: 1, column: 1, path: 'models', message: 'must be a list' }
    report.include([other])
    reportFor(report, path => ['keys', ...path]).add([0, 'name'], 'is taken')
    t.same(
      thrown(report).problems.map(({ file, path }) => [file, path]),
      [
        ['headgate.yaml', 'keys[0].name'],
        ['own.json', 'models']
      ]
    )
  }
)

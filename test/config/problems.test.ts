import t from 'tap'
import { ConfigError, formatProblems, formatWarnings } from '../../lib/config/problems.ts'

const problem = {
  file: 'headgate.yaml',
  line: 12,
  column: 5,
  path: 'providers.openai.base_ulr',
  message: 'unknown entry',
  suggestion: 'providers.openai.base_url'
}

t.test('each problem is a line with its place, its entry and a suggestion', async t => {
  const error = new ConfigError([
    problem,
    { file: 'environment', line: 0, column: 0, path: 'PORT', message: 'must be a number' },
    { file: 'x.yaml', line: 1, column: 1, path: '', message: 'no YAML' }
  ])
  t.equal(
    formatProblems(error),
    [
      'headgate.yaml:12:5  providers.openai.base_ulr  unknown entry; did you mean providers.openai.base_url?',
      'environment  PORT  must be a number',
      'x.yaml:1:1  no YAML'
    ].join('\n')
  )
  t.equal(error.name, 'ConfigError')
  t.same(error.warnings, [])
})

t.test('a warning is labelled as such', async t => {
  t.same(formatWarnings([problem]), [
    'headgate.yaml:12:5  providers.openai.base_ulr  warning: unknown entry; did you mean providers.openai.base_url?'
  ])
})

/**
 * Keeps the vocabulary of the project to that of the field: private words do not come back, and each
 * construct is written in one way.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/**
 * Private words of earlier versions, with the word to use instead. No more than these: ordinary English words
 * are free, and a longer list made the writing worse.
 */
const unwanted: ReadonlyArray<readonly [word: RegExp, instead: string]> = [
  [/\b(?:the books|[a-z]*Books|books\b(?=[?:]))/i, 'usage ledger, usage records'],
  [/\bunder way\b/i, 'in flight, open'],
  [/\b(?:told|[a-z]+Told)\b/i, 'emitted, reported'],
  [/\b(?:hire[ds]?|crew)\b/i, 'fork, workers'],
  [/\bdear(?:er|est)?\b/i, 'expensive'],
  [/\bgates?\b/i, 'semaphore'],
  [/\b(?:own-turn|ownTurn)\b/i, 'yield-fairly'],
  [/\b(?:scrub|scrubs|scrubbed|drains)\b/i, 'redact, abandoned answers'],
  [/\borders? (?:of|in|for|to) the sandbox\b|\bsandbox(?:'s)? orders?\b/i, 'directives'],
  [/\bhouse\b/i, 'layers, layout, folders']
]

const texts = new Map(
  ['lib', 'pipelines', 'schemas', 'test', 'bench', 'examples', 'docs', '.ci']
    .flatMap(folder =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(name => join(folder, name))
    )
    .concat(
      'README.md',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
      'headgate.example.yaml',
      '.env.example',
      'package.json'
    )
    .filter(
      name =>
        /\.(?:tsx?|mjs|py|md|yaml|example)$|^\.ci\/run$|^package\.json$/.test(name) &&
        !name.includes('fixtures/')
    )
    .map(name => [name, readFileSync(join(root, name), 'utf8')] as const)
)

t.test('names, comments and documents use the words of the field', async t => {
  t.ok(texts.size > 500, `${texts.size} files`)
  for (const [file, text] of texts) {
    if (file === 'test/words.test.ts') continue
    text.split('\n').forEach((line, index) => {
      for (const [word, instead] of unwanted) {
        if (word.test(line)) t.fail(`${file}:${index + 1}: ${instead}: ${line.trim()}`)
      }
    })
  }
})

interface Doc { readonly place: string, readonly text: string, readonly of: string }

const docs: readonly Doc[] = [...texts]
  .filter(([file]) => /\.tsx?$/.test(file))
  .flatMap(([file, text]) =>
    [...text.matchAll(/\/\*\*((?:[^*]|\*(?!\/))*)\*\/\n(.*)/g)].map(
      ({ 1: body = '', 2: of = '', index }) => ({
        place: `${file}:${text.slice(0, index).split('\n').length}`,
        text: body.replaceAll(/\n\s*\*/g, ' ').trim(),
        of
      })
    )
  )

t.test('the doc comment of an exported function begins with a verb', async t => {
  t.ok(docs.length > 2000, `${docs.length} doc comments`)
  const functions = docs.filter(({ of }) => /^export (?:async )?function/.test(of))
  t.ok(functions.length > 500, `${functions.length} functions`)
  // Third person: "Returns …"; or a tag alone, where the name says it all.
  t.same(
    functions
      .filter(({ text }) => !/^(?:[A-Z][a-z]+s\b|@)/.test(text))
      .map(({ place, text }) => `${place} ${text}`),
    []
  )
})

t.test('optional fields are spread in one way', async t => {
  // `...value !== undefined && { value }`, see CONTRIBUTING.md
  const other = /\.\.\.\(.*(?:\? \{\} :|: \{\}\)|&& \{.*\}\),?$)/
  const lines = [...texts]
    .filter(([file]) => /\.tsx?$/.test(file))
    .flatMap(([file, text]) => text.split('\n').map(line => `${file}: ${line}`))
  t.same(
    lines.filter(line => other.test(line)),
    []
  )
})

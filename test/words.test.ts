/** Keeps the words of the project to those of the field: private ones do not come back, and things are written in one way. */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/** Private words, with the one to use instead. */
const unwanted: ReadonlyArray<readonly [word: RegExp, instead: string]> = [
  [/\b(?:the books|[a-z]*Books|books\b(?=[?:]))/i, 'usage ledger, usage records'],
  [/\bunder way\b/i, 'in flight, open'],
  [/\b(?:told|[a-z]+Told|tell(?:s|ing)?|tell[A-Z]\w*)\b|\bNews\b/i, 'emitted, says, shows, reported'],
  [/\b(?:hire[ds]?|crew)\b/i, 'fork, workers'],
  [/\bleads?\b|\blead[A-Z]\w*/i, 'primary; refers to, stands for'],
  [/\bdear(?:er|est)?\b/i, 'expensive'],
  [/\b(?:setback|in play)\b/i, 'cooldown, eligible'],
  [/\b(?:held|held[A-Z]\w*|[a-z]+Held)\b|\bHeld\b/, 'cooling down; kept, in use, reserved, withheld'],
  [/\b(?:waits?|gets?|takes?|served)(?: for)?(?: in| all)?(?: its| their)? turns?\b|\bwhose turn\b|\b(?:its|their) turns?\b(?! of| were)|[a-z]+ListenTurn|listen-turn|listenTurn/, 'candidate; a turn is one model inference'],
  [/\baccounts?\b.*\b(?:retr(?:y|ies)|attempts?)\b|\b(?:retry|attempts?)\W+accounts?\b|#account\b|\baccount\.\w/i, 'retry budget'],
  [/\b(?:gates?|slots?)\b/i, 'semaphore'],
  [/\b(?:own-turn|ownTurn|own-copy|ownCopy|unless-aborted|unlessAborted)\b|\bwithin \(/, 'yield-fairly, flat-string, abortable, with-timeout'],
  [/\b(?:scrub|scrubs|scrubbed|drains)\b/i, 'redact, abandoned answers'],
  [/(?<!\bIPC )\bchannels?\b/i, 'ipc, IPC channel'],
  [/'\.{1,2}\/(?:[a-z-]+\/)*(?:within|gate|slots|channel|drains|scrub)\.ts'/, 'with-timeout, semaphore, ipc, …'],
  [/\b(?:asked|(?:un)?answered|[a-z]+(?:Asked|Answered))\b|\b(?:asked|answered)[A-Z]\w*/i, 'sent, requested, called; succeeded, served'],
  [/\bwhole\b|\b(?:[a-z]*Whole[A-Z]|whole[A-Z])\w*/i, 'complete, buffered, entire; an integer'],
  [/\b(?:a worker died|another follows|a fault (?:that )?nobody|the configuration holds|is not good|holds? from now)\b/i, 'worker exited, uncaught exception, configuration reloaded'],
  [/\b(?:tellOnce|toldOnce)\b|\borders? (?:of|in|for|to) the sandbox\b|\bsandbox(?:'s)? orders?\b/i, 'logged once, directives'],
  [/\b(?:letIn|let in)\b/, 'admitted'],
  [/\b(?:whoever|nobody|somebody|anybody|everybody)\b/i, 'the caller, no …'],
  [/\b(?:of late|as far as|hardly)\b/i, 'recent, if, rarely'],
  [/\b(?:house|the hall|floors|rooms)\b/i, 'layers, layout, folders'],
  [/\b(?:longest|largest|shortest)[A-Z]\w*\b/, 'max…, min…'],
  [/\btime-outs?\b/i, 'timeout'],
  [/\bgoes up\b/, 'is sent']
]

/** The places where such a word is right, and why. */
const allowed: ReadonlyArray<readonly [place: RegExp, text: string, reason: string]> = [
  [/^(?:lib|test)\/sandbox\/|^test\/support\/|^test\/pipelines\/images|^schemas\/speech/, 'channel', 'of a sound or a picture'],
  [/^test\/words\.test\.ts$/, '', 'the lists of these words']
]

const texts = new Map(
  ['lib', 'pipelines', 'schemas', 'test', 'bench', 'examples', 'docs', '.ci'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(name => join(folder, name)))
    .concat('README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'headgate.example.yaml', '.env.example', 'package.json')
    .filter(name => /\.(?:tsx?|mjs|py|md|yaml|example)$|^\.ci\/run$|^package\.json$/.test(name) && !name.includes('fixtures/'))
    .map(name => [name, readFileSync(join(root, name), 'utf8')] as const)
)

t.test('names, comments and documents use the words of the field', async t => {
  t.ok(texts.size > 500, `${texts.size} files`)
  const used = new Set<string>()
  for (const [file, text] of texts) {
    text.split('\n').forEach((line, index) => {
      for (const [word, instead] of unwanted) {
        if (!word.test(line)) continue
        const exception = allowed.find(([place, part]) => place.test(file) && line.includes(part))
        if (exception === undefined) t.fail(`${file}:${index + 1}: ${instead}: ${line.trim()}`)
        else used.add(exception[2])
      }
    })
  }
  t.same(allowed.map(([,, reason]) => reason).filter(reason => !used.has(reason)), [], 'every exception is needed')
})

interface Doc { readonly place: string, readonly text: string, readonly of: string }

const docs: readonly Doc[] = [...texts].filter(([file]) => /\.tsx?$/.test(file)).flatMap(([file, text]) =>
  [...text.matchAll(/\/\*\*((?:[^*]|\*(?!\/))*)\*\/\n(.*)/g)].map(({ 1: body = '', 2: of = '', index }) => ({
    place: `${file}:${text.slice(0, index).split('\n').length}`, text: body.replaceAll(/\n\s*\*/g, ' ').trim(), of
  })))

t.test('a doc comment begins with what its subject does or is', async t => {
  t.ok(docs.length > 2000, `${docs.length} doc comments`)
  const clause = /^(?:What|How|Of|Whether|Who|Whom|Whose|Which|Where|Why|When|Everything|Something)\b/
  t.same(docs.filter(({ text }) => clause.test(text)).map(({ place, text }) => `${place} ${text}`), [])
})

t.test('the doc comment of an exported function begins with a verb', async t => {
  const functions = docs.filter(({ of }) => /^export (?:async )?function/.test(of))
  t.ok(functions.length > 500, `${functions.length} functions`)
  // Third person: "Returns …"; or a tag alone, where the name says it all.
  t.same(functions.filter(({ text }) => !/^(?:[A-Z][a-z]+s\b|@)/.test(text)).map(({ place, text }) => `${place} ${text}`), [])
})

t.test('an optional field is written in one way', async t => {
  // `...value !== undefined && { value }`, see lib/README.md
  const other = /\.\.\.\(.*(?:\? \{\} :|: \{\}\)|&& \{.*\}\),?$)/
  const lines = [...texts].filter(([file]) => /\.tsx?$/.test(file)).flatMap(([file, text]) => text.split('\n').map(line => `${file}: ${line}`))
  t.same(lines.filter(line => other.test(line)), [])
})

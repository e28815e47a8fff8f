import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')
const folders = ['lib', 'pipelines', 'schemas', 'test', 'bench', 'examples']
const width = 110
/**
 * Strings, templates that continue on the next line, patterns and URLs. Breaking them would make them hard to
 * search for.
 */
const texts = /(['"`])(?:\\.|(?!\1).)*\1|`.*|\/(?:\\.|[^/ *]).*\/|https?:\/\/\S+/g
const minTextLength = 40

/** Returns the lines that are too long even without their long texts. */
function longLines (name: string): string[] {
  let inTemplate = false
  return readFileSync(join(root, name), 'utf8').split('\n').flatMap((line, index) => {
    const isText = inTemplate
    if ((line.match(/(?<!\\)`/g)?.length ?? 0) % 2 === 1) inTemplate = !inTemplate
    if (isText || line.length <= width) return []
    const rest = line.replaceAll(texts, text => text.length >= minTextLength ? '' : text)
    return rest.length > width ? `${name}:${index + 1}` : []
  })
}

/** Returns the lines that begin with a closing brace and are indented more than the line before. */
function strayBraces (name: string): string[] {
  const lines = readFileSync(join(root, name), 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    const before = lines[index - 1] ?? ''
    const isStray = /^ *}/.test(line) && indentation(line) > indentation(before) && !before.includes('`')
    return isStray ? `${name}:${index + 1}` : []
  })
}

function indentation (line: string): number {
  return line.length - line.trimStart().length
}

const names = folders.flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.tsx?$/.test(name))
    .map(name => join(folder, name))
)

t.test('lines have 110 columns at most, but for a long text', async t => {
  t.ok(names.length > 1000)
  t.same(names.flatMap(longLines), [])
})

t.test('closing braces stand where their blocks begin', async t => {
  t.same(names.flatMap(strayBraces), [])
})

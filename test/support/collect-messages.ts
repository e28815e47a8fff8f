/**
 * Collects the sentences that callers and operators may see from compiled code: every text of three words
 * or more, and every argument of an error, whatever its length. Expressions in templates stay as written.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse, type AnyNode, type Expression, type SpreadElement, type TemplateLiteral } from 'acorn'

/** Leaves out what the simulator invents. */
const skippedFolders = /^lib\/sandbox\/|^lib\/public\//
const skippedTags = new Set(['sql'])

/** Returns the messages by folder, each once and sorted. */
export function collectMessages (build: string, folders: readonly string[]): Map<string, string[]> {
  const byFolder = new Map<string, Set<string>>()
  for (const folder of folders) {
    for (const file of readdirSync(join(build, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, file)
      if (!path.endsWith('.js') || skippedFolders.test(path)) continue
      const messages = byFolder.get(dirname(path)) ?? new Set()
      byFolder.set(dirname(path), messages)
      for (const message of messagesIn(readFileSync(join(build, path), 'utf8'))) messages.add(message)
    }
  }
  return new Map([...byFolder].filter(([, messages]) => messages.size > 0).toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([folder, messages]) => [folder, [...messages].toSorted()]))
}

function messagesIn (source: string): string[] {
  const found: string[] = []
  const visit = (node: AnyNode): void => {
    if (node.type === 'ImportDeclaration' || node.type === 'ExportNamedDeclaration' && node.source != null) return
    if (node.type === 'TaggedTemplateExpression' && node.tag.type === 'Identifier' && skippedTags.has(node.tag.name)) return
    if (node.type === 'NewExpression' && node.callee.type === 'Identifier' && /(?:Error|Failure)$/.test(node.callee.name)) {
      found.push(...node.arguments.flatMap(argument => textOf(argument, source) ?? []).filter(text => / /.test(text)))
    }
    const text = textOf(node, source)
    if (text !== undefined && isSentence(text) && !isSql(text)) found.push(text)
    if (text !== undefined && node.type === 'BinaryExpression') return
    for (const child of childrenOf(node)) visit(child)
  }
  visit(parse(source, { ecmaVersion: 'latest', sourceType: 'module' }))
  return found
}

/** Recognises three words or more, those of expressions aside. */
function isSentence (written: string): boolean {
  const text = written.replaceAll(/\$\{[^}]*\}/g, '{}')
  return /(?:^|\s)[\w`"'$({-]\S*\s+\S+\s+\S*[a-z]/i.test(text) && /[a-z]{3}/.test(text)
}

function isSql (text: string): boolean {
  return /^\s*(?:create|alter|insert|select|pragma|begin|drop)\b[^]*(?:\b(?:table|into|from|column)\b|_mode|timeout|rollback)/.test(text)
}

function textOf (node: AnyNode | Expression | SpreadElement, source: string): string | undefined {
  if (node.type === 'BinaryExpression') {
    const parts = node.operator !== '+' || node.left.type === 'PrivateIdentifier' ? [] : [textOf(node.left, source), textOf(node.right, source)]
    return parts.length === 2 && parts.every(part => part !== undefined) ? parts.join('') : undefined
  }
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  return node.type === 'TemplateLiteral' ? templateText(node, source) : undefined
}

function templateText ({ quasis, expressions }: TemplateLiteral, source: string): string {
  return quasis.map(({ value }, index) => {
    const expression = expressions[index]
    return (value.cooked ?? '') + (expression === undefined ? '' : `\${${source.slice(expression.start, expression.end).replace(/\s+/g, ' ')}}`)
  }).join('')
}

function childrenOf (node: AnyNode): AnyNode[] {
  return Object.values(node).flat().filter((value): value is AnyNode =>
    typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string') // nodes have a type, nothing else in a tree does
}

/**
 * Collects the sentences that callers and operators may see from compiled code: every text of two words or
 * more, and every text in an error, a log line or a line of output, even of one word. Expressions in
 * templates are kept as written.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  parse,
  type AnyNode,
  type CallExpression,
  type Expression,
  type NewExpression,
  type TemplateLiteral
} from 'acorn'

/** Returns the messages by folder, each once and sorted. */
export function collectMessages (root: string, folders: readonly string[]): Map<string, string[]> {
  const byFolder = new Map<string, Set<string>>()
  for (const folder of folders) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, file)
      if (!/\.m?js$/.test(path)) continue
      const messages = byFolder.get(dirname(path)) ?? new Set()
      byFolder.set(dirname(path), messages)
      for (const message of messagesIn(readFileSync(join(root, path), 'utf8'))) messages.add(message)
    }
  }
  return new Map(
    [...byFolder]
      .filter(([, messages]) => messages.size > 0)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([folder, messages]) => [folder, [...messages].toSorted()])
  )
}

/** @param source a JavaScript module */
export function messagesIn (source: string): string[] {
  const found: string[] = []
  const visit = (node: AnyNode, said: boolean): void => {
    if (isImport(node) || node.type === 'TaggedTemplateExpression') return // tags are SQL
    const text = textOf(node, source)
    if (
      text !== undefined &&
      (said ? /[a-z]{2}/i.test(withoutExpressions(text)) : isSentence(text)) &&
      !isSql(text) &&
      !isFrame(text)
    ) {
      found.push(text)
    }
    if (text !== undefined && node.type === 'BinaryExpression') return
    const spoken = new Set<unknown>(
      node.type === 'CallExpression' || node.type === 'NewExpression' ? spokenArguments(node) : []
    )
    for (const child of childrenOf(node)) visit(child, spoken.has(child) || (said && passesOn(node)))
  }
  visit(parse(source, { ecmaVersion: 'latest', sourceType: 'module' }), false)
  return found
}

function isImport ({ type, ...node }: AnyNode): boolean {
  return (
    type === 'ImportDeclaration' || (type.startsWith('Export') && 'source' in node && node.source != null)
  )
}

/**
 * Returns the arguments that are shown unchanged: of an error (except its code), of a log line, of a line of
 * output.
 */
function spokenArguments ({ type, callee, arguments: given }: CallExpression | NewExpression): unknown[] {
  if (type === 'NewExpression') {
    return callee.type === 'Identifier' && /(?:Error|Failure|Refusal)$/.test(callee.name)
      ? given.slice(callee.name === 'GatewayError' ? 1 : 0)
      : []
  }
  if (callee.type === 'Identifier') return /^(?:out|notice|print)$/.test(callee.name) ? given : []
  if (callee.type !== 'MemberExpression' || !('name' in callee.property)) return []
  const [object, method] = [callee.object, callee.property.name]
  const owner =
    'property' in object && 'name' in object.property
      ? object.property.name
      : 'name' in object
        ? object.name
        : ''
  const isOutput =
    /^(?:out|notice)$/.test(method) ||
    /^(?:console|terminal)$/.test(owner) ||
    (method === 'write' && /^std(?:out|err)$/.test(owner))
  return isOutput || (/log$/i.test(owner) && /^(?:trace|debug|info|warn|error|fatal)$/.test(method))
    ? given
    : []
}

/** Recognises the contexts in which a text is selected or composed but still a message. */
function passesOn (node: AnyNode): boolean {
  return (
    node.type === 'ConditionalExpression' ||
    node.type === 'LogicalExpression' ||
    node.type === 'ArrayExpression' ||
    (node.type === 'BinaryExpression' && node.operator === '+')
  )
}

/** Recognises two words or more, without those of expressions. */
function isSentence (written: string): boolean {
  const text = withoutExpressions(written)
  return /(?:^|[\s`"'(])[a-z][\w'-]*[`"',.:;)]*\s+\S*[a-z{]/i.test(text) && /[a-z]{3}/.test(text)
}

function withoutExpressions (text: string): string {
  return text.replaceAll(/\$\{[^}]*\}/g, '{}')
}

/** Recognises SQL, and fragments that SQL is composed of. */
function isSql (text: string): boolean {
  return /^\s*(?:create (?:table|unique|index)|alter table|insert (?:or|into)|select\b|update \w+ set|delete from|pragma|begin|commit|rollback|drop (?:table|index)|vacuum into|(?:with )?\w+ as \(|set local |\w+ as \w+$|chain\()/.test(
    text
  )
}

/**
 * Recognises lines of an event stream, headers, addresses with their method, media types with parameters, and
 * code.
 */
function isFrame (text: string): boolean {
  return /(?:^|\n)(?:data|event): |^: |^(?:content-\w+|connection|x-request-id): |^no-cache|^Bearer \$|^[A-Z]+ \/|^[a-z]+\/[\w.+-]+;|^import |^new URL/.test(
    text
  )
}

function textOf (node: AnyNode | Expression, source: string): string | undefined {
  if (node.type === 'BinaryExpression') {
    const parts =
      node.operator !== '+' || node.left.type === 'PrivateIdentifier'
        ? []
        : [textOf(node.left, source), textOf(node.right, source)]
    return parts.length === 2 && parts.every(part => part !== undefined) ? parts.join('') : undefined
  }
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  return node.type === 'TemplateLiteral' ? templateText(node, source) : undefined
}

function templateText ({ quasis, expressions }: TemplateLiteral, source: string): string {
  return quasis
    .map(({ value }, index) => {
      const expression = expressions[index]
      return (
        (value.cooked ?? '') +
        (expression === undefined
          ? ''
          : `\${${source.slice(expression.start, expression.end).replace(/\s+/g, ' ')}}`)
      )
    })
    .join('')
}

function childrenOf (node: AnyNode): AnyNode[] {
  return Object.values(node)
    .flat()
    .filter(
      (value): value is AnyNode =>
        // only nodes of the tree have a type
        typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
    )
}

/**
 * Shows the Markdown of models: headings, lists, code, emphasis and links. It builds elements and never HTML,
 * so a model's output remains text.
 */

import type { ComponentChildren, JSX } from 'preact'
import { Code } from '../parts/code.tsx'
import { OutsideLink } from '../parts/outside-link.tsx'

interface Block {
  readonly kind: 'code' | 'heading' | 'list' | 'ordered' | 'quote' | 'text'
  readonly lines: readonly string[]
  readonly note?: string
}

export function Markdown ({ text }: { readonly text: string }): JSX.Element {
  return (
    <div class='markdown'>
      {blocksOf(text).map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  )
}

function BlockView ({ block: { kind, lines, note } }: { readonly block: Block }): JSX.Element {
  switch (kind) {
    case 'code':
      return <Code text={lines.join('\n')} label={note === undefined || note === '' ? 'code' : note} />
    case 'heading':
      return <h3>{inline(lines[0] ?? '')}</h3>
    case 'list':
      return (
        <ul>
          {lines.map((line, index) => (
            <li key={index}>{inline(line)}</li>
          ))}
        </ul>
      )
    case 'ordered':
      return (
        <ol>
          {lines.map((line, index) => (
            <li key={index}>{inline(line)}</li>
          ))}
        </ol>
      )
    case 'quote':
      return <blockquote>{inline(lines.join('\n'))}</blockquote>
    case 'text':
      return <p>{inline(lines.join('\n'))}</p>
  }
}

const starts: ReadonlyArray<readonly [Block['kind'], RegExp]> = [
  ['heading', /^#{1,6} /],
  ['list', /^\s*[-*+] /],
  ['ordered', /^\s*\d{1,3}[.)] /],
  ['quote', /^> ?/]
]

/** Splits a text into blocks, in one pass over its lines. */
function blocksOf (text: string): readonly Block[] {
  const blocks: Block[] = []
  let open: { kind: Block['kind'], lines: string[], note?: string } | undefined
  const close = (): void => {
    if (open !== undefined && open.lines.length > 0) blocks.push(open)
    open = undefined
  }
  for (const line of text.split('\n')) {
    const fence = /^\s*```(.*)$/.exec(line)
    if (open?.kind === 'code') {
      if (fence === null) open.lines.push(line)
      else close()
      continue
    }
    if (fence !== null) {
      close()
      open = { kind: 'code', lines: [], note: (fence[1] ?? '').trim() }
      continue
    }
    if (line.trim() === '') {
      close()
      continue
    }
    const [kind, mark] = starts.find(([, pattern]) => pattern.test(line)) ?? ['text', undefined] as const
    const content = mark === undefined ? line : line.replace(mark, '')
    if (open?.kind !== kind || kind === 'heading') {
      close()
      open = { kind, lines: [] }
    }
    open?.lines.push(content)
  }
  close()
  return blocks
}

const marks = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^\]\n]+)\]\((https?:\/\/[^)\s]+)\)/g

/** Returns a line with its emphasis, code and links; links are `http` and `https` only. */
function inline (text: string): ComponentChildren {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of text.matchAll(marks)) {
    const [all, code, strong, emphasis, label, url] = match
    parts.push(text.slice(end, match.index))
    if (code !== undefined) parts.push(<code>{code}</code>)
    else if (strong !== undefined) parts.push(<strong>{strong}</strong>)
    else if (emphasis !== undefined) parts.push(<em>{emphasis}</em>)
    else if (url !== undefined) {
      parts.push(<OutsideLink url={url}>{label}</OutsideLink>)
    }
    end = match.index + all.length
  }
  return [...parts, text.slice(end)]
}

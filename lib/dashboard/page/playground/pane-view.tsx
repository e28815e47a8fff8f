/** One model with its conversation. */

import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { isChatModel } from '../state/catalogue.ts'
import { AnswerView } from './answer-view.tsx'
import { panes, type Pane } from './conversation.ts'
import { ModelSelect } from './model-select.tsx'

export function PaneView ({
  pane,
  closable
}: {
  readonly pane: Pane
  readonly closable: boolean
}): JSX.Element {
  const end = useRef<HTMLDivElement>(null)
  const turns = pane.turns.value
  const last = turns.at(-1)
  // Stays at the end while the answer grows, unless the reader has scrolled up.
  useEffect(
    () =>
      last?.answer.subscribe(() => {
        const list = end.current?.parentElement
        if (
          list !== null &&
          list !== undefined &&
          list.scrollHeight - list.scrollTop - list.clientHeight < 120
        ) {
          requestAnimationFrame(() => end.current?.scrollIntoView({ block: 'end' }))
        }
      }),
    [last]
  )
  useEffect(() => end.current?.scrollIntoView({ block: 'end' }), [turns.length])
  return (
    <section
      class='pane'
      aria-label={pane.model.value === '' ? 'Conversation' : `Conversation with ${pane.model.value}`}
    >
      <header class='pane-head'>
        <ModelSelect
          label='Model'
          value={pane.model.value}
          onChange={model => {
            pane.model.value = model
          }}
          suits={isChatModel}
        />
        {closable && (
          <Button
            kind='plain'
            small
            icon='close'
            label='Remove this model'
            onClick={() => {
              panes.value = panes.value.filter(other => other !== pane)
            }}
          />
        )}
      </header>
      <div class='messages' tabIndex={0} role='log' aria-label='Conversation'>
        {turns.length === 0 && (
          <Empty icon='idea' title='Say something'>
            Answers stream in here, with what they take and cost.
          </Empty>
        )}
        {turns.map(turn => (
          <article key={turn.id} class='turn'>
            <div class='question'>
              {turn.attachments.map(({ id, name, part }) => (
                <figure key={id} class='attached'>
                  {part.type === 'image_url' ? (
                    <img src={part.image_url.url} alt={name} />
                  ) : (
                    <span class='tag plain'>
                      <Icon name='attach' size={13} />
                      {name}
                    </span>
                  )}
                </figure>
              ))}
              {turn.text}
            </div>
            <AnswerView answer={turn.answer} />
          </article>
        ))}
        <div ref={end} />
      </div>
    </section>
  )
}

/** The problems or the warnings of a configuration. */

import type { JSX } from 'preact'
import type { Answer } from '../api/client.ts'
import { Notice } from '../parts/notice.tsx'
import type { Tone } from '../parts/badge.tsx'

type Problem = Answer<'GET /admin/v1/configuration'>['warnings'][number]

export interface ProblemsProps {
  readonly problems: readonly Problem[]
  readonly tone: Tone
  /** Goes to the line, if there is an editor. */
  readonly onLine?: (line: number) => void
}

export function Problems ({ problems, tone, onLine }: ProblemsProps): JSX.Element {
  return (
    <>
      {problems.map(({ file, line, path, message, suggestion }) => (
        <Notice key={`${line} ${path} ${message}`} tone={tone}>
          {line > 0 &&
            (onLine === undefined ? (
              <span class='mono'>
                {file}:{line}{' '}
              </span>
            ) : (
              <button type='button' class='button link mono' onClick={() => onLine(line)}>
                Line {line}
              </button>
            ))}
          {path !== '' && <code> {path} </code>}
          {message}
          {suggestion !== null && ` ${suggestion}`}
        </Notice>
      ))}
    </>
  )
}

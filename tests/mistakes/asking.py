"""List mistakes with runs, replies from other tools, rationales, the gaze task and the human study."""

from __future__ import annotations

from tests.mistakes.mistake import read

MISTAKES = read(r"""
# Runs
no key | run data --provider openai --model gpt-4.1 --limit 1 --out new
    missing-key | openai needs a key | environment variable | Set the environment variable OPENAI_API_KEY
    env OPENAI_API_KEY= | needs httpx stamina filelock PIL
an unknown provider | run data --provider opnai --model gpt-4.1
    unknown-name | unknown provider 'opnai' | Available: anthropic | Did you mean 'openai'?
no model | run data --provider openai
    missing-option | add --provider NAME and --model NAME | --model | or --preset NAME
an unknown preset | run data --preset gpt4
    unknown-name | unknown preset 'gpt4' | --preset | Did you mean 'gpt'?
an unknown prompt | run data --provider baseline --model uniform --prompt cott
    unknown-name | unknown prompt 'cott' | Available: base, cue, cot | Did you mean 'cot'?
a prompt twice | run data --provider baseline --model uniform --prompt base,base --out new
    duplicate | base is named twice | --prompt | Give each prompt once
samples in words | run data --provider baseline --model uniform --samples many
    invalid-option | found 'many' | --samples | such as 50,50,20
samples for other prompts | run data --provider baseline --model uniform --prompt base,cue,cot --samples 5,5
    invalid-option | found 2 numbers for 3 prompts | --samples | Give one number, or one per prompt
an unknown model of a baseline | run data --provider baseline --model unifrom
    unknown-name | unknown baseline 'unifrom' | --model | Did you mean 'uniform'?
a run into a folder with other files
    run data --provider baseline --model uniform --samples 1 --prompt base --out photos
    output-exists | photos is not empty and is not a run | --out | Use another folder
    file photos/a.txt x | needs stamina filelock PIL
a run into a file | run data --provider baseline --model uniform --samples 1 --prompt base --out photos/a.txt
    output-exists | photos/a.txt is a file | --out | Use a folder | file photos/a.txt x | needs stamina filelock PIL
a run into the folder of another run | run data --provider baseline --model center --samples 1 --prompt base --out new
    different-settings | other settings | --out: new | Use another folder
    before run data --provider baseline --model uniform --samples 1 --prompt base --out new --quiet
    needs stamina filelock PIL
a dataset without images | run lacking --provider openai --model gpt-4.1 --limit 1 --out new
    missing-file | found no such file | lacking/images/soccer/1.jpg | expected an image file in lacking
    env OPENAI_API_KEY=sk-test | needs httpx stamina filelock PIL
no dataset | run dat --provider baseline --model uniform
    missing-file | found no such file | dat/scenes.jsonl | Use a dataset folder
a file as a dataset | run data/scenes.jsonl --provider baseline --model uniform
    missing-file | found no such file | data/scenes.jsonl/scenes.jsonl | Use a dataset folder
a body that is not JSON | run data --provider openai --model gpt-4.1 --extra-body top_k=20
    invalid-option | not JSON | --extra-body | expected a JSON object such as '{"top_k": 20}'
a body with an option | run data --provider openai --model gpt-4.1 --extra-body {"temperature":1}
    conflicting-options | must not set 'temperature' | --extra-body | Use --temperature instead
    env OPENAI_API_KEY=sk-test | needs httpx stamina filelock PIL
a temperature that is too high | run data --provider openai --model gpt-4.1 --temperature 9
    invalid-option | found 9.0 | --temperature | expected 0 to 2
    env OPENAI_API_KEY=sk-test | needs httpx stamina filelock PIL
an address without http | run data --provider openai --model gpt-4.1 --base-url localhost:8000
    invalid-option | found 'localhost:8000' | --base-url | such as http://localhost:8000/v1
    env OPENAI_API_KEY=sk-test | needs httpx stamina filelock PIL
a password in an address | run data --provider openai --model gpt-4.1 --base-url https://me:secret@example.org/v1
    invalid-option | must not contain a user | --base-url | set keys as environment variables
    env OPENAI_API_KEY=sk-test | needs httpx stamina filelock PIL
an API of another provider | run data --provider baseline --model uniform --api chat
    unsupported-option | has only one API | --api | Remove --api
a folder that is not a run | parse photos
    wrong-folder | photos is not the folder of a run | it has no run.sqlite | Give the --out folder of `spotball run`
    file photos/a.txt x
replies without a batch | batch import photos photos/a.txt
    wrong-folder | photos contains no batch | photos | Give the --out folder of `spotball batch export`
    file photos/a.txt x
a batch without a model | batch export data --format openai --out new
    missing-option | needs the name of the model | --format openai | Add --model NAME | needs stamina filelock PIL

# Replies from other tools
no column of replies | parse raw.csv --scenes data/scenes.jsonl --out o.jsonl
    missing-column | found the columns image, answer text | raw.csv:2 | --reply | file raw.csv image,answer text\n1,D5\n
an unknown column of replies | parse raw.csv --scenes data/scenes.jsonl --reply respons --out o.jsonl
    missing-column | found no such column | raw.csv:2: respons | Did you mean 'response'?
    file raw.csv image,response\n1,D5\n
responses with an unknown ending | parse raw.csv --scenes data/scenes.jsonl --out o.txt
    unsupported-format | found o.txt | --out | expected a file name ending in .jsonl, .csv, .parquet
    file raw.csv image,response\n1,D5\n
an unknown layout | parse raw.csv --scenes data/scenes.jsonl --layout vlmeval --out o.jsonl
    - | 'vlmeval' is not one of | --layout | 'vlmevalkit' | file raw.csv image,response\n1,D5\n
coordinates that fit several scales | parse raw.csv --scenes data/scenes.jsonl --answer point --out o.jsonl
    missing-option | fit several scales (image, 1000) | --point-scale | Add --point-scale
    file raw.csv image,response\n1,"(300, 200)"\n
a scale of cells | parse raw.csv --scenes data/scenes.jsonl --point-scale 1 --out o.jsonl
    missing-option | cells have no scale | --answer | Add --answer point | file raw.csv image,response\n1,D5\n
a policy for cells with points | parse photos --answer point --point-scale 1 --parse-policy strict
    conflicting-options | applies only to cells | --parse-policy | Remove it | file photos/run.sqlite x
points without a scale | parse photos --answer point
    missing-option | the scale of the coordinates is missing | --point-scale | Add --point-scale 1000
    file photos/run.sqlite x
a prompt for cells with points | run data --provider baseline --model uniform --answer point --point-scale 1
    conflicting-options | ask for a cell | --prompt | Use a prompt file that asks for a point
    needs httpx stamina filelock PIL
a log that is not there | parse logs.eval --out o.jsonl
    missing-file | found no such file | logs.eval | Check the path

# Rationales
responses without rationales | reasoning data --embedder openai --dry-run
    no-data | found none in 6 responses | data/responses-human.jsonl
    expected rationales in the column `reasoning`
an unknown embedder | reasoning rationales --embedder opnai --dry-run
    unknown-name | unknown embedder 'opnai' | Available: gemini | Did you mean 'openai'?
unknown templates | reasoning rationales --embedder openai --templates pose-gase --dry-run
    unknown-name | unknown templates 'pose-gase' | Available: pose-gaze | Did you mean 'pose-gaze'?

# Gaze
trials with a misspelled column | gaze analyze t.csv
    unknown-column | found an unknown column | t.csv: prompt | Rename the unknown column to prompt_id
    file t.csv respondent,stimulus_id,prompt,choice\nm,s1,1,cup\n
predictions as trials | gaze analyze t.csv
    missing-column | found the columns image, cell | t.csv: stimulus_id | Rename or add the column
    file t.csv image,cell\n1,D5\n
no trials | gaze analyze trials.csv
    missing-file | found no such file | trials.csv | Check the path
a level above 1 | gaze analyze trials.csv --alpha 5
    invalid-option | found 5 | --alpha | such as 0.05
an unknown observer | plan --observer compromize --simulations 1
    unknown-name | unknown observer 'compromize' | --observer | Did you mean 'compromise'?
numbers of trials in words | plan --observer eye --trials many
    invalid-option | found 'many' | --trials | such as 1,4,16
an unknown gaze prompt | gaze ask s.csv --provider observer --model eye --out new --prompt mian
    unknown-name | unknown prompt 'mian' | --prompt | Did you mean 'main'? | file s.csv @stimuli
an unknown view | gaze ask s.csv --provider observer --model eye --out new
    invalid-value | found 'above' | s.csv:2: view | expected front, left or right
    file s.csv @stimuli of an unknown view
stimuli without objects | gaze ask s.csv --provider observer --model eye --out new
    invalid-value | found nothing | s.csv:2: objects | different names, joined by +
    file s.csv @stimuli without objects
a target that is not an object | gaze ask s.csv --provider observer --model eye --out new
    invalid-value | found 'vase' | s.csv:2: gaze_target | expected one of cup, ball
    file s.csv @stimuli with an unknown target
no photos | gaze ask s.csv --provider openai --model gpt-4o --out new
    missing-file | found no such file | s1.jpg | expected an image file
    file s.csv @stimuli | env OPENAI_API_KEY=sk-test | needs httpx stamina filelock PIL
a folder without stimuli | gaze ask photos --provider openai --model gpt-4o
    missing-file | found no such file | photos/stimuli.csv | Check the path | file photos/a.txt x
trials that do not describe the photos | gaze analyze t.csv
    missing-column | found the columns stimulus_id, choice | t.csv: view | Add --stimuli FILE
    file t.csv stimulus_id,choice\ns1,cup\n
times in milliseconds | gaze analyze t.csv --stimuli s.csv
    misread-answers | a median of 2,400 | t.csv:2: response_time | Add --time-unit ms
    file s.csv @stimuli
    file t.csv stimulus_id,sample,choice,response_time\ns1,1,,900\ns1,2,,2400\ns1,3,,2400\ns1,4,,800\ns1,5,,9000\n
objects that cannot be drawn | gaze stimuli --out new --objects cup+keys
    unknown-name | unknown object 'cup' | --objects | add --no-pictures
an unknown view of a design | gaze stimuli --out new --views front,top
    unknown-name | 'top' | --views | Available: front, left, right
points in pixels | gaze points s.csv p.csv --out o.csv
    invalid-value | found 320, 200 | p.csv:2: x, y | from 0 to 1
    file s.csv @stimuli | file p.csv stimulus_id,x,y\ns1,320,200\n

# The human study
a study that exists | study init data --out st
    output-exists | already exists | st/study.toml | Use another folder with --out
    file st/study.toml | needs markdown_it
a sport that the dataset lacks | study init data --sport socer --out st
    unknown-name | unknown sport 'socer' | --sport | Did you mean 'soccer'? | needs markdown_it
more images than the dataset has | study init data --images 99 --out st
    invalid-option | found 99 | --images | expected 1 to 3, the number of images of soccer with a hidden ball
    needs markdown_it
placeholders in a study | study check st
    - | the text still contains placeholders: AMOUNT | st/study.toml: pay.base | Replace them with your own text
    status 1 | before study init data --out st --quiet | needs markdown_it PIL
a folder that is not a study | study serve photos
    missing-file | found no such file | photos/study.toml | that `spotball study init` made
    file photos/a.txt x | needs uvicorn starlette markdown_it
neither a study nor the demo | study serve
    missing-option | STUDY is missing | the folder of a study | or add --demo
a name as a proxy | study serve --demo --proxy nginx
    invalid-option | found nginx | --proxy | such as 127.0.0.1 | needs uvicorn starlette markdown_it
a public address without https | study serve --demo --public-url example.org/study
    invalid-option | found example.org/study | --public-url | such as https://example.org/study/
    needs uvicorn starlette markdown_it
an unknown rule of exclusion | study status st --exclude fats
    unknown-name | unknown rule 'fats' | --exclude | Did you mean 'fast'?
    before study init data --out st --quiet | needs markdown_it PIL
a study without answers | study export st --out o
    wrong-folder | no answers are stored | st | Start the study with `spotball study serve st`
    before study init data --out st --quiet | needs markdown_it PIL
nobody to delete | study delete photos
    conflicting-options | exactly one of
    LABEL and --prolific, for the data of one person, and --pilot, for all pilots | use exactly one of
    file photos/a.txt x
two groups to pay | study bonus photos --kept --all --out o.csv
    conflicting-options | cannot be combined | --kept and --all | Remove one of them | file photos/a.txt x
""")

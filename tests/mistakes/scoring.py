"""List mistakes with predictions, scores, comparisons, reports and the published release."""

from __future__ import annotations

from tests.mistakes.mistake import read

MISTAKES = read(r"""
# Columns
wrong name of the answer column | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    missing-column | found the columns image, answer | p.csv: cell
    Add --columns cell=answer (in Python: columns={'cell': 'answer'}) | file p.csv image,answer\n1,D5\n
wrong name of the image column | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    missing-column | found the columns img, cell | p.csv: image
    Add --columns image=img (in Python: columns={'image': 'img'}) | file p.csv img,cell\n1,D5\n
misspelled column | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    unknown-column | found an unknown column | p.csv: respondant | Rename the unknown column to respondent
    file p.csv image,cell,respondant\n1,D5,me\n
columns in capitals | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    unknown-column | found an unknown column | p.csv: Image | Rename the unknown column to image
    file p.csv Image,Cell\n1,D5\n
misspelled key in JSON Lines | score p.jsonl --scenes data/scenes.jsonl --bootstrap 0
    unknown-column | found an unknown column | p.jsonl:2: promt | Rename the unknown column to prompt
    file p.jsonl {"image":"1","cell":"D5","prompt":"cue"}\n{"image":"2","cell":"D5","promt":"cue"}\n
semicolons between fields | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    - | found fields separated by semicolons | p.csv:1: header | read with semicolons
    file p.csv image;cell\n1;D5\n | status 0
tabs between fields | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    - | found fields separated by tabs | p.csv:1: header | read with tabs
    file p.csv image\tcell\n1\tD5\n | status 0
row without a column | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    missing-column | found a column row without a column col | p.csv: col | Add the column col
    file p.csv image,row\n1,3\n
a column twice | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    duplicate | found two columns with this name | p.csv: cell | Remove or rename the other
    file p.csv image,cell,cell\n1,D5,D6\n
more fields than the header | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    invalid-csv | found 3 fields | p.csv:2 | expected 2 fields, as in the header | file p.csv image,cell\n1,D5,extra\n

# Files
an Excel file | score p.xlsx --scenes data/scenes.jsonl
    wrong-file | found a file ending in .xlsx | p.xlsx | Save the spreadsheet as CSV and retry | file p.xlsx @Excel
an Excel file renamed to CSV | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    unreadable-file | found an Excel or zip file | p.csv | Save the spreadsheet as CSV | file p.csv @Excel
a zip file | score p.zip --scenes data/scenes.jsonl
    wrong-file | found a file ending in .zip | p.zip | Unpack the file and retry | file p.zip @Excel
a text file | score p.txt --scenes data/scenes.jsonl
    wrong-file | found a file ending in .txt | p.txt | Save the responses as CSV or JSON Lines
    file p.txt image,cell\n1,D5\n2,D5\n3,D5\n
JSON Lines named .json | score p.json --scenes data/scenes.jsonl
    invalid-json | expected valid JSON | p.json:2
    If the file has one object per line, rename it so that its name ends in .jsonl
    file p.json {"image":"1","cell":"D5"}\n{"image":"2","cell":"D5"}\n
a single record as JSON | score p.json --scenes data/scenes.jsonl
    wrong-file | found an object with the keys image, cell | p.json: file
    Write a list of records, such as [{"image": "1", "cell": "D5"}] | file p.json {"image":"1","cell":"D5"}
a JSON list named .jsonl | score p.jsonl --scenes data/scenes.jsonl --bootstrap 0
    invalid-json | expected a JSON object | p.jsonl:1 | Write one object per line. Remove brackets
    file p.jsonl [{"image":"1","cell":"D5"},\n {"image":"2","cell":"D5"}]
indented JSON named .jsonl | score p.jsonl --scenes data/scenes.jsonl --bootstrap 0
    invalid-json | expected a JSON object | p.jsonl:1 | Write one object per line
    file p.jsonl {\n "image":"1",\n "cell":"D5"\n}\n
commas at the ends of JSON Lines | score p.jsonl --scenes data/scenes.jsonl --bootstrap 0
    invalid-json | expected a JSON object | p.jsonl:1 | Remove brackets around the list and commas at the ends of lines
    file p.jsonl {"image":"1","cell":"D5"},\n{"image":"2","cell":"D5"},\n
a report of scores | score report.json --scenes data/scenes.jsonl
    wrong-file | A report of `spotball score` does not contain responses | report.json | Give the file of responses
an empty file | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    no-data | found an empty file | p.csv | Check the program that wrote the file | file p.csv
a header without rows | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    no-data | found no responses | p.csv | Add a row for each answer | file p.csv image,cell\n
a misspelled file | score prediction.csv --scenes data/scenes.jsonl
    missing-file | found no such file | prediction.csv | Did you mean 'predictions.csv'?
    file predictions.csv image,cell\n1,D5\n2,D5\n3,D5\n
Latin-1 | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    unreadable-file | found byte 0xf6, which is not UTF-8 (probably Windows-1252 | p.csv:2 | Save the file as UTF-8
    file p.csv @Latin-1
UTF-16 | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    - | found text in UTF-16 | p.csv:1: file | It is read as UTF-16 | file p.csv @UTF-16 | status 0
a folder without responses | score photos
    wrong-folder | found no responses file | photos: folder | Use a dataset folder or a responses file
    file photos/1.jpg x
the same dataset twice | score data data
    duplicate | found a file that was given twice | data/responses-human.jsonl | Give it once

# Answers
indices of cells | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    misread-answers | found whole numbers in 3 of 3 cells | p.csv:2: cell | Add --first-index 0
    file p.csv image,cell\n1,7\n2,14\n3,21\n
a number with a unit | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    invalid-value | found '380px' | p.csv:2: x | Remove units, such as px | file p.csv image,x,y\n1,380px,220px\n
whole replies in a column of another tool | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    missing-column | found the columns image, response | p.csv: cell | spotball parse p.csv --reply response
    file p.csv image,response\n1,The ball is in D5\n
the truth next to the predictions | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    ambiguous-name | found the columns cell and prediction | p.csv: cell | Add --columns cell=prediction
    file p.csv image,cell,prediction\n1,D5,A1\n
points of the truth next to the predictions | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    ambiguous-name | found the columns x and pred_x | p.csv: x | Add --columns x=pred_x
    file p.csv image,x,y,pred_x,pred_y\n1,3,4,50,60\n
corners with a size | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    ambiguous-name | found the columns x, y, width and height | p.csv: x, y | add --columns x=x
    file p.csv image,x,y,width,height\n1,485.6,152.6,65.8,65.8\n
one file as truth and predictions | score p.csv --truth p.csv --bootstrap 0
    ambiguous-name | this file contains the predictions as well | p.csv: truth | --columns cell=PREDICTION,cells=TRUTH
    file p.csv image,truth,prediction\n1,D9,A1\n
a truth in fractions | score p.csv --truth t.csv --bootstrap 0
    misread-answers | found values between 0 and 1 in all 3 images | t.csv:2: x | Multiply x by the width
    file p.csv image,cell\n1,D5\n | file t.csv image,x,y\n1,0.81,0.51\n2,0.2,0.3\n3,0.7,0.1\n
a truth of boxes in percent | score p.csv --truth t.csv --bootstrap 0
    misread-answers | found values between 0 and 100 in all 10 images | t.csv:2: ball_box | Multiply x by the width
    file p.csv image,cell\n1,D5\n | file t.csv @boxes in percent
free text as cells | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    misread-answers | cells with other text, and no cell | p.csv:2: cell | Extract the cells with `spotball parse`
    file p.csv image,cell\n1,maybe D5\n2,unclear\n3,left\n
whole replies as cells | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    misread-answers | cells that look like full replies | p.csv:2: cell | Extract the cell from each reply with
    file p.csv @replies as cells
rows that count from 0 | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    misread-answers | found row or column 0 | p.csv:2: row, col | Add --first-index 0
    file p.csv image,row,col\n1,0,3\n2,5,9\n3,2,2\n
columns of cells that count from 0 | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    - | found row or column 0 | p.csv:2: cell | rows and columns that start at 1
    file p.csv image,cell\n1,A0\n2,F9\n3,C2\n | status 0
rows and columns swapped | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    - | cells outside the grid (line 2: row 10 col 3 | p.csv:2: row, col | expected cells from A1 to F10
    file p.csv image,row,col\n1,10,3\n2,9,6\n3,2,2\n | status 0
cells outside the grid | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    - | 2 of 3 cells outside the grid | p.csv:2: cell | expected cells from A1 to F10
    file p.csv image,cell\n1,G5\n2,D11\n3,C2\n | status 0
x and y swapped | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    - | points outside the image | p.csv:2: x, y | expected points inside the image of 640 x 360 pixels
    file p.csv image,x,y\n1,100,500\n2,200,600\n3,20,30\n | status 0
points as shares | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    misread-answers | found values between 0 and 1 in all 3 points | p.csv:2: x, y | Add --point-scale 1
    file p.csv image,x,y\n1,0.4,0.5\n2,0.9,0.6\n3,0.2,0.3\n
two kinds of answers | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    invalid-value | found values for cell, x and y | p.csv:2: cell | Leave the other columns empty
    file p.csv image,cell,x,y\n1,D5,20,20\n
probabilities that do not add up to 1 | score p.jsonl --scenes data/scenes.jsonl --bootstrap 0
    invalid-distribution | found a sum of 0.9 | p.jsonl:1: probabilities
    Divide the probabilities of each answer by their sum
    file p.jsonl {"image":"1","probabilities":{"D5":0.5,"C2":0.4}}\n
log probabilities | score p.jsonl --scenes data/scenes.jsonl --bootstrap 0
    invalid-distribution | found -0.5 | p.jsonl:1: probabilities | Convert scores or log probabilities
    file p.jsonl {"image":"1","probabilities":{"D5":1.5,"C2":-0.5}}\n
too few probabilities | score p.jsonl --scenes data/scenes.jsonl --bootstrap 0
    invalid-distribution | found 2 numbers | p.jsonl:1: probabilities | List the cells row by row
    file p.jsonl {"image":"1","probabilities":[0.5,0.5]}\n
percentages | score p.jsonl --scenes data/scenes.jsonl --bootstrap 0
    invalid-distribution | found a sum of 100.0 | p.jsonl:1: probabilities
    Divide the probabilities of each answer by their sum
    file p.jsonl {"image":"1","probabilities":{"D5":60,"C2":40}}\n

# Names
unknown images | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    unknown-image | found '99'; '98' | p.csv:3: image | Use the ids of the scenes file
    file p.csv image,cell\n1,D5\n99,D5\n98,D5\n
paths of unknown images | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    unknown-image | found 'images/soccer/9.jpg' | p.csv:2: image | such as '1'. Use the ids of the scenes file
    file p.csv image,cell\nimages/soccer/9.jpg,D5\n
file names as images | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    - | image ids with a folder, a file extension or .0 | p.csv:2: image
    expected ids as in the scenes file, such as '1'. They are read
    file p.csv image,cell\n1.jpg,D5\n2.jpg,D5\n | status 0
an unknown sport | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    unknown-image | found '1' of football | p.csv:2: image
    soccer has 3 images, such as '1'. Use the ids of the scenes file | file p.csv sport,image,cell\nfootball,1,D5\n
a sample twice | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    duplicate | found a second sample 1 of p for image soccer/1 | p.csv:3: sample | Number repeated answers 1, 2, 3
    file p.csv image,cell,sample\n1,D5,1\n1,C2,1\n
a word as a sample | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    invalid-value | found 'first' | p.csv:2: sample | Number the samples of each image 1, 2, 3
    file p.csv image,cell,sample\n1,D5,first\n
an unknown kind of respondent | score p.csv --scenes data/scenes.jsonl --bootstrap 0
    invalid-value | found 'llm' | p.csv:2: kind | expected human or model or baseline
    file p.csv image,cell,kind\n1,D5,llm\n

# Scenes
no scenes | score p.csv
    missing-truth | found none | p.csv: scenes | Add --scenes FILE | file p.csv image,cell\n1,D5\n2,D5\n3,D5\n
a folder as scenes | score p.csv --scenes data
    wrong-file | found a folder | data: file | Give the path of the file scenes.jsonl in this folder
    file p.csv image,cell\n1,D5\n2,D5\n3,D5\n
responses as scenes | score p.csv --scenes p.csv
    wrong-file | found a CSV file | p.csv: file | Give the prediction files before --scenes
    file p.csv image,cell\n1,D5\n2,D5\n3,D5\n
scenes as responses | score data/scenes.jsonl --scenes data/scenes.jsonl
    missing-column | found the columns sport, image, width | data/scenes.jsonl: cell | Rename the
scenes as a JSON list | score p.csv --scenes s.json
    invalid-json | found a JSON list | s.json:1 | Write one scene per line
    file p.csv image,cell\n1,D5\n2,D5\n3,D5\n | file s.json @scenes as a list
scenes of two grids | score p.csv --scenes s.jsonl
    different-grids | grids of different sizes (3 x 4, 6 x 10) | the scenes | Split them by grid size
    file p.csv image,cell\n1,D5\n | file s.jsonl @scenes of two grids
a ball outside the grid | score p.csv --scenes s.jsonl
    invalid-value | 'Z9' is outside the grid | s.jsonl:1 | whose cells run from A1 to F10
    file p.csv image,cell\n1,D5\n2,D5\n3,D5\n | file s.jsonl @scene with a ball outside the grid
a key of a scene missing | score p.csv --scenes s.jsonl
    missing-value | found nothing | s.jsonl:1: height | Add height
    file p.csv image,cell\n1,D5\n2,D5\n3,D5\n | file s.jsonl @scene without a height
a key of a scene misspelled | score p.csv --scenes s.jsonl
    unknown-key | expected a known key | s.jsonl:1: contol | Did you mean 'control'?
    file p.csv image,cell\n1,D5\n2,D5\n3,D5\n | file s.jsonl @scene with a misspelled key

# Options
an unknown metric | score data --metrics acuracy --bootstrap 0
    unknown-name | unknown metric 'acuracy' | --metrics | Did you mean 'accuracy'?
an unknown reference | score data --reference humans --bootstrap 0
    unknown-name | unknown respondent 'humans' | reference | Did you mean 'human'?
an unknown part of a group | score data --by respondant --bootstrap 0
    unknown-name | unknown part 'respondant' | --by | Did you mean 'respondent'?
a sport that was not scored | score data --sport socer --bootstrap 0
    unknown-name | unknown sport 'socer' | --sport | Did you mean 'soccer'?
a misspelled option | score data --refrence human
    - | No such option | --refrence | --reference
an unknown choice | score data --images commn
    - | 'commn' is not one of 'shared', 'all' | --images | Try 'spotball score -h' for help
a negative number | score data --bootstrap -5
    - | Invalid value for '--bootstrap' | --bootstrap | Try 'spotball score -h' for help
an ending without a form | score data --out scores.pdf --bootstrap 0
    unsupported-format | the ending .pdf is not supported | --out | Use .json, .csv, .md, .tex, or add --format
people without participants | score data --cluster participant --bootstrap 20
    - | the responses have no participants | images were resampled | Add a column `participant` | status 0
a misspelled command | scroe data
    - | No such command 'scroe' | spotball | Did you mean 'score'

# Comparisons and reports
one respondent to compare | compare data --a me
    - | Missing option | --b | Try 'spotball compare -h' for help
an unknown respondent to compare | compare data --a mee --b human
    unknown-name | unknown respondent 'mee' | Available: human, human/base, me, me/base | Did you mean 'me'?
an unknown prompt to compare | compare data --a me/bas --b human
    unknown-name | unknown respondent 'me/bas' | Available: human, human/base, me, me/base | Did you mean 'me/base'?
a respondent compared with itself | compare data --a me --b me
    invalid-option | me and me contain the same answers | --a and --b | Name two different respondents
no images in common | compare p.csv q.csv --a p --b q --scenes data/scenes.jsonl
    no-data | no scored images in common | p and q | Compare respondents that answered the same images
    file p.csv image,cell\n1,D5\n | file q.csv image,cell\n2,D5\n
a report into a folder with other files | report data --out mine --bootstrap 0
    output-exists | is not empty and is not an earlier report: it contains thesis.txt | --out | Use another folder
    file mine/thesis.txt x | needs matplotlib jinja2 PIL
a report into a file | report data --out mine.html --bootstrap 0
    output-exists | mine.html is a file | --out | Use another folder | file mine.html x | needs matplotlib jinja2 PIL
a report without a folder | report data
    - | Missing option | --out | Try 'spotball report -h' for help
a report before a report | report data --before report.json --out new --bootstrap 0
    wrong-file | which cannot be paired by image | report.json
    Give the dataset or the responses of this report with --before | needs matplotlib jinja2 PIL
a leaderboard without reports | leaderboard photos --out board
    no-data | found none | photos: reports | spotball score --format json | file photos/1.jpg x | needs jinja2
an unknown metric of a leaderboard | leaderboard report.json --metrics acuracy --out board
    unknown-name | unknown metric 'acuracy' | --metrics | Did you mean 'accuracy'? | needs jinja2

# The release, baselines and the demo
no release | replicate spot-the-ball-release
    missing-file | found no such folder | spot-the-ball-release: folder | Check the path
a release in another layout | replicate photos
    wrong-file | found none | photos: ground truth | Give the folder of the downloaded release | file photos/a.txt x
a dataset imported as a release | import-release data --out new
    wrong-file | found none | data: ground truth | Give the folder of the downloaded release
a demo into a folder with other files | demo --out mine
    output-exists | is not empty and is not an earlier demo | --out: mine | Use another folder | file mine/thesis.txt x
a demo into a file | demo --out mine.txt
    output-exists | mine.txt is a file | --out | Use a folder | file mine.txt x
an unknown baseline | baselines data --name unifrom
    unknown-name | unknown baseline 'unifrom' | Available: uniform | Did you mean 'uniform'?
counts in a CSV file | count data --out counts.csv
    unsupported-format | expected a file name ending in .counts | counts.csv | ending in .counts
an unknown schema | schema scenes
    unknown-name | unknown schema 'scenes' | Available: | Did you mean 'scene'? | slow
an unknown cue | cues explain data --cues location,hed --bootstrap 0
    unknown-name | unknown cue 'hed' | Available: location | Did you mean 'head'?
""")

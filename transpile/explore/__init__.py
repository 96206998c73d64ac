"""A page of HTML that shows a function, and what it became, side by side.

places.py    the lines of Python that a program comes from, by number
panes.py     the texts: Python, graph, loops, C and assembly, each line with its lines of Python
pictures.py  drawings: the graph, and the workspace over time
costs.py     what each kernel computes and moves
drawing.py   a document of SVG
measure.py   how long each kernel takes, by the program itself
roofline.py  what this machine reaches, and how near kernels come
page.py      the page
stage.py     what all stages of compilation have
notebook.py  how notebooks show stages and graphs
"""
